"""Several processes that train one network: equal parameters, batches of their own, gradients averaged.

On a CPU one thread per process and one process per core is the fast way: the network's operations are too small to
share. The gradient is small as well, so one all-reduce of one flat vector does.
"""

import os
import signal
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch import distributed as dist
from torch.multiprocessing import ProcessExitedException, ProcessRaisedException

from ..errors import QseError
from ..stop_signals import handled_by


def launch(work: Callable[..., None], processes: int, *arguments: Any) -> None:
    """work(rank, processes, *arguments) in each of `processes` processes; in this one when there is only one.

    Raises the QseError that a process ends with; any other exception comes with that process's traceback.
    """
    if processes == 1:
        work(0, 1, *arguments)
        return
    with tempfile.TemporaryDirectory() as folder, _signals_passed_on() as (crew, heard):
        spawned = torch.multiprocessing.spawn(_join, (processes, folder, work, arguments), processes, join=False)
        crew.extend(spawned.processes)
        try:
            while not spawned.join(grace_period=10):  # the others end by themselves, or are ended
                pass
        except (ProcessRaisedException, ProcessExitedException) as error:
            reason = Path(folder) / "reason"
            if reason.exists():
                raise QseError(reason.read_text()) from None
            if heard:  # before they listened
                raise SystemExit(128 + heard[0]) from None
            if isinstance(error, ProcessExitedException):
                raise QseError(f"{error}; where a checkpoint lies, --resume goes on from there") from None
            raise


@contextmanager
def _signals_passed_on() -> Iterator[tuple[list[BaseProcess], list[int]]]:
    """A request to stop is for the processes that work: they finish their step and write a checkpoint.

    Yields a list for these processes, and one of the signals that came.
    """
    crew, heard = list[BaseProcess](), list[int]()

    def hear(number: int, _: Any) -> None:
        heard.append(number)
        if number != signal.SIGINT:  # which comes to them from the terminal as well
            for process in crew:
                process.terminate()

    with handled_by(hear):
        yield crew, heard


def _join(rank: int, processes: int, folder: str, work: Callable[..., None], arguments: tuple) -> None:
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=processes)
    try:
        work(rank, processes, *arguments)
    except QseError as error:
        (Path(folder) / "reason").write_text(str(error))
        raise
    except KeyboardInterrupt:  # which torch would take for an end
        raise SystemExit(128 + signal.SIGINT) from None
    finally:
        dist.destroy_process_group()


def count() -> int:
    """How many processes train together."""
    return dist.get_world_size() if dist.is_initialized() else 1


@torch.no_grad()
def average_(tensors: Iterable[Tensor]) -> None:
    """Replaces every tensor by its mean over all processes; does nothing in a single one."""
    if count() == 1:
        return
    tensors = list(tensors)
    flat = torch.cat([tensor.flatten() for tensor in tensors])
    dist.all_reduce(flat)
    flat /= count()
    for tensor, mean in zip(tensors, flat.split([tensor.numel() for tensor in tensors]), strict=True):
        tensor.copy_(mean.view_as(tensor))


def gather(items: list) -> list:
    """The items of all processes, joined in the order of their ranks."""
    if count() == 1:
        return items
    parts: list[Any] = [None] * count()
    dist.all_gather_object(parts, items)
    return [item for part in parts for item in part]

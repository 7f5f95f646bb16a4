"""Train one network in several processes: equal parameters, different batches, averaged gradients.

On a CPU one process per core with one thread each is fastest, for the network's operations are too
small to share. The gradient is small as well: it is one flat vector in one all-reduce.
"""

import os
import signal
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
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
    """Call work(rank, processes, *arguments) in each of `processes` processes; in this one where
    there is only one.

    Raises the QseError of a process; any other exception comes with the traceback of its process.
    """
    if processes == 1:
        work(0, 1, *arguments)
        return
    with tempfile.TemporaryDirectory() as folder, _signals_passed_on() as (children, received):
        spawned = torch.multiprocessing.spawn(
            _join, (processes, folder, work, arguments), processes, join=False
        )
        children.extend(spawned.processes)
        for number in received:  # while the processes were started
            _pass_on(number, children)
        try:
            # the others end by themselves, or are terminated
            while not spawned.join(grace_period=10):
                pass
        except (ProcessRaisedException, ProcessExitedException) as error:
            reason = Path(folder) / "reason"
            if reason.exists():
                raise QseError(reason.read_text()) from None
            if received:  # before the processes had their handlers
                raise SystemExit(128 + received[0]) from None
            if isinstance(error, ProcessExitedException):
                raise QseError(
                    f"{error}; if there is a checkpoint, --resume continues from there"
                ) from None
            raise


@contextmanager
def _signals_passed_on() -> Iterator[tuple[list[BaseProcess], list[int]]]:
    """Pass requests to stop on to the processes that train: they finish their step and write a
    checkpoint.

    Yields a list to put these processes in, and the list of the signals that came.
    """
    children = list[BaseProcess]()
    received = list[int]()

    def handle(number: int, _: Any) -> None:
        received.append(number)
        _pass_on(number, children)

    with handled_by(handle):
        yield children, received


def _pass_on(number: int, children: list[BaseProcess]) -> None:
    if number != signal.SIGINT:  # which they receive from the terminal as well
        for process in children:
            process.terminate()


def _join(
    rank: int, processes: int, folder: str, work: Callable[..., None], arguments: tuple
) -> None:
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=processes
    )
    try:
        work(rank, processes, *arguments)
    except QseError as error:
        (Path(folder) / "reason").write_text(str(error))
        raise
    except KeyboardInterrupt:  # which torch would take for a normal end
        raise SystemExit(128 + signal.SIGINT) from None
    finally:
        dist.destroy_process_group()


def count() -> int:
    """Return how many processes train together."""
    return dist.get_world_size() if dist.is_initialized() else 1


@torch.no_grad()
def average_(tensors: Iterable[Tensor]) -> None:
    """Replace every tensor by its mean over all processes; in a single process, do nothing."""
    if count() == 1:
        return
    tensors = list(tensors)
    flat = torch.cat([tensor.flatten() for tensor in tensors])
    dist.all_reduce(flat)
    flat /= count()
    means = flat.split([tensor.numel() for tensor in tensors])
    for tensor, mean in zip(tensors, means, strict=True):
        tensor.copy_(mean.view_as(tensor))


def gather(items: list) -> list:
    """Return the items of all processes, joined in the order of their ranks."""
    if count() == 1:
        return items
    parts: list[Any] = [None] * count()
    dist.all_gather_object(parts, items)
    return list(chain.from_iterable(parts))

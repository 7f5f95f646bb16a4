"""Exchange tensors and objects between the processes of a training: by gloo on a CPU, by NCCL
between GPUs.

The gradient is small: it is one flat vector in one all-reduce.
"""

import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from itertools import chain
from threading import current_thread, main_thread

import torch
from torch import Tensor
from torch import distributed as dist
from torch.nn import functional as F

from ..errors import QseError


class LostProcess(QseError):
    """Another process of the run has ended, or cannot be reached."""

    def __init__(self, cause: str):
        """`cause`: in the words of PyTorch."""
        self.reason = f"another process of this run has ended, or cannot be reached ({cause})"
        cure = "if there is a checkpoint, resume=True continues from there"
        super().__init__(f"{self.reason}; {cure}")


@contextmanager
def process_group(meeting_point: str, rank: int, processes: int) -> Iterator[None]:
    """Join the processes into a group for the time of the context."""
    has_gpus = torch.cuda.is_available() and dist.is_nccl_available()
    backends = "cpu:gloo,cuda:nccl" if has_gpus else "gloo"
    with _exchange():
        dist.init_process_group(
            backends, init_method=meeting_point, rank=rank, world_size=processes
        )
    try:
        yield
    finally:
        dist.destroy_process_group()


@contextmanager
def _exchange() -> Iterator[None]:
    """Turn a failure of the exchange with the other processes into a LostProcess."""
    try:
        yield
    except RuntimeError as error:
        _ignore_sigterm()
        reason = str(error).partition("\n")[0].partition(". ")[0]
        raise LostProcess(reason) from error


def _ignore_sigterm() -> None:
    """Ignore SIGTERM from now on.

    torchrun sends it to the processes that are left when one has ended. These end by themselves,
    and must not end before they have said why.
    """
    if current_thread() is main_thread():  # no other may install handlers
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def count() -> int:
    """Return how many processes train together."""
    return dist.get_world_size() if dist.is_initialized() else 1


@torch.no_grad()
def average_(tensors: Iterable[Tensor]) -> None:
    """Replace every tensor by its mean over all processes; in a single process, do nothing."""
    if count() == 1:
        return
    tensors = list(tensors)
    flat = _joined(tensors)
    with _exchange():
        dist.all_reduce(flat)
    flat /= count()
    _copy_parts(flat, tensors)


@torch.no_grad()
def copy_from_first_(tensors: Iterable[Tensor]) -> None:
    """Replace every floating-point tensor by that of the first process; in a single process, do
    nothing."""
    if count() == 1:
        return
    tensors = list(filter(torch.is_floating_point, tensors))
    flat = _joined(tensors)
    with _exchange():
        dist.broadcast(flat, 0)
    _copy_parts(flat, tensors)


def _joined(tensors: list[Tensor]) -> Tensor:
    """Return the values of all tensors as one vector, in their order."""
    return torch.cat(list(map(torch.flatten, tensors)))


def _copy_parts(flat: Tensor, tensors: list[Tensor]) -> None:
    """Copy the parts of `flat` into the tensors, in their order."""
    parts = flat.split(list(map(torch.numel, tensors)))
    for tensor, part in zip(tensors, parts, strict=True):
        tensor.copy_(part.view_as(tensor))


def gather(items: list) -> list:
    """Return the items of all processes, joined in the order of their ranks.

    items: numbers, texts and tensors, also in lists, tuples and dictionaries. Others are refused:
    any program that reaches the ports of a run can send to it, and must not have code run.
    """
    if count() == 1:
        return items
    packed = BytesIO()
    torch.save(items, packed)
    parts = []
    for received in _of_all(packed.getbuffer()):
        parts.append(torch.load(BytesIO(received), map_location="cpu", weights_only=True))
    return list(chain.from_iterable(parts))


def _of_all(content: memoryview) -> list[bytes]:
    """Return the bytes of all processes, in the order of their ranks."""
    own = torch.frombuffer(content, dtype=torch.uint8)
    sizes = list(torch.zeros(count(), 1, dtype=torch.int64))
    with _exchange():
        dist.all_gather(sizes, torch.tensor([len(own)]))
        longest = max(map(int, sizes))
        parts = list(torch.zeros(count(), longest, dtype=torch.uint8))
        dist.all_gather(parts, F.pad(own, (0, longest - len(own))))
    return [bytes(part[:size].numpy()) for part, size in zip(parts, sizes, strict=True)]

"""Mix batches in processes beside the training, which hand over where they lie in memory: shared
memory of a CPU, CUDA IPC of a GPU.

The thread of the training then only launches its own work.
"""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import torch

from ..data.mix_ahead import MixAhead
from ..data.source import Batch, BatchSource
from ..spawning import spawning
from . import worker
from .train_config import TrainConfig

RELEASED_EVERY = 30
"""Batches after which a process gives back the GPU memory that PyTorch keeps for later: segments of
many lengths would otherwise fill it."""

_source: BatchSource | None = None
_made = 0


def mixing_processes(
    count: int, source: Callable[[], BatchSource], device: torch.device
) -> ProcessPoolExecutor:
    """Return an executor of `mixed`, in `count` processes that open their own `source`; it can be
    sent to them."""
    return ProcessPoolExecutor(count, spawning(), _begin, (source, device))


def mixed(step: int, share: int, size: int) -> Batch:
    """Return a batch of a source, in one of the processes."""
    global _made
    assert _source is not None
    batch = _source.batch(step, size, share)
    _made += 1
    if batch.noisy.is_cuda and _made % RELEASED_EVERY == 0:
        torch.cuda.empty_cache()
    return batch


def mixed_ahead(
    batches: Callable[[int, int], Batch],
    open_source: Callable[[], BatchSource],
    plan: TrainConfig,
    device: torch.device,
    rank: int,
) -> MixAhead:
    """Return the same batches, made ahead: in a thread, or in processes that open their own
    source."""
    shares = range(rank * plan.accumulate, (rank + 1) * plan.accumulate)
    if not plan.mix_processes:
        return MixAhead(batches, shares, plan.mix_ahead)
    processes = mixing_processes(plan.mix_processes, open_source, device)
    return MixAhead(partial(mixed, size=plan.batch), shares, plan.mix_ahead, processes)


def _begin(source: Callable[[], BatchSource], device: torch.device) -> None:
    global _source
    worker.begin()
    torch.set_num_threads(1)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    _source = source()

"""Recognise that a step does not fit into memory."""

from concurrent.futures.process import BrokenProcessPool

import torch

from ..errors import QseError


class OutOfMemory(QseError):
    """A step does not fit into memory."""

    def __init__(self, done: int, error: Exception):
        """done: steps before it; error: what PyTorch raised."""
        reason = str(error).partition("\n")[0].partition(". ")[0]
        if isinstance(error, BrokenProcessPool):
            reason = "a process that mixes batches was ended"
        cure = "resume with a smaller batch, as with --set train.batch=N"
        super().__init__(
            f"step {done + 1} does not fit into memory ({reason}); nothing of the steps before is"
            f" lost: {cure}"
        )


def is_out_of_memory(error: Exception) -> bool:
    """Return whether an error says so, of a GPU, of the CPU, or of a process that mixes batches: a
    system without memory ends one."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError | BrokenProcessPool):
        return True
    return "can't allocate memory" in str(error)


def release_unused() -> None:
    """Give back the memory of a GPU that PyTorch keeps for later."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()

"""Recognise that a step does not fit into memory."""

import torch

from ..errors import QseError


class OutOfMemory(QseError):
    """A step does not fit into memory.

    step: those that are done; reason: in the words of PyTorch.
    """

    def __init__(self, step: int, reason: str):
        self.reason = reason.partition("\n")[0].partition(". ")[0]
        cure = "resume with a smaller batch, as with --set train.batch=N"
        super().__init__(
            f"step {step + 1} does not fit into memory ({self.reason}); nothing of the steps before"
            f" is lost: {cure}"
        )


def is_out_of_memory(error: Exception) -> bool:
    """Return whether an error says so, of a GPU or of the CPU."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return "can't allocate memory" in str(error)


def release_unused() -> None:
    """Give back the memory of a GPU that PyTorch keeps for later."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()

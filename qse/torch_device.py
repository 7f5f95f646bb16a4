"""Choose the device on which PyTorch computes, by its name."""

from typing import TYPE_CHECKING

from .errors import UsageError
from .extras import need

if TYPE_CHECKING:
    import torch

KINDS = ("cpu", "cuda", "mps")


def torch_device(name: str) -> "torch.device":
    """Return the device called `name`: cpu, cuda, cuda:1 (the second GPU) or mps.

    Raises UsageError for another name, and for a device that PyTorch does not find here.
    """
    torch = need("torch", "train")
    kind, colon, number = name.partition(":")
    if kind not in KINDS or (colon and not (kind == "cuda" and number.isdecimal())):
        raise UsageError(f"device={name}: choose cpu, cuda, cuda:N or mps")
    if kind == "mps" and not torch.backends.mps.is_available():
        raise UsageError("device=mps: PyTorch finds no Apple GPU here; leave it out")
    if kind == "cuda":
        _check_gpu(name, int(number or 0), torch.cuda.device_count())
    return torch.device(name)


def _check_gpu(name: str, number: int, found: int) -> None:
    if not found:
        raise UsageError(
            f"device={name}: PyTorch finds no GPU here; install its CUDA build, or leave it out"
        )
    if number >= found:
        raise UsageError(f"device={name}: PyTorch finds {found} here, cuda:0 to cuda:{found - 1}")


def uploaded(tensor: "torch.Tensor", device: "torch.device") -> "torch.Tensor":
    """Return a tensor on a device. A CUDA GPU copies it later, and the CPU does not wait."""
    if device.type == "cuda" and not tensor.is_cuda:
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=device.type != "mps")

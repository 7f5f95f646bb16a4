"""Choose what computes a GRU: the recurrence of gru.py where a CPU trains, a Triton kernel on CUDA
where it fits, torch.gru elsewhere.

Triton comes with the CUDA builds of PyTorch; without it torch.gru is used on CUDA as well.
"""

import functools
import warnings
from collections.abc import Callable

import torch
from torch import Tensor

from .gru import gru

GRU = Callable[[Tensor, Tensor, tuple[Tensor, Tensor, Tensor, Tensor]], Tensor]

# the most units of which the three matrices stay on the chip, by the type of the products
MOST_UNITS = {torch.bfloat16: 128, torch.float16: 128, torch.float32: 64}
CAPABILITY = (8, 0)  # the first with products in bfloat16


def chosen_gru(device: torch.device, kind: torch.dtype, units: int, training: bool) -> GRU | None:
    """Return a function with the arguments of `gru.gru` for a layer with weights of type `kind`, or
    None for torch.gru.

    The products of the kernel are in the type of autocast, without it in float32.
    """
    if device.type == "cpu":
        return gru if training else None
    if device.type != "cuda" or kind != torch.float32:
        return None
    product = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else kind
    if units > MOST_UNITS.get(product, 0):
        return None
    return _kernel(device, product, units)


@torch.compiler.disable
@functools.cache
def _kernel(device: torch.device, product: torch.dtype, units: int) -> GRU | None:
    """Return the kernel when it has run once here, forward and backward; else None, with a
    warning."""
    if torch.version.hip or torch.cuda.get_device_capability(device) < CAPABILITY:
        return None
    try:
        from . import gru_kernel
    except ImportError:
        return None
    kernel = functools.partial(gru_kernel.gru, product=product)
    try:
        _try(kernel, device, units)
    except Exception as error:  # for example: no C compiler, or too little shared memory
        reason = str(error).strip().splitlines() or [type(error).__name__]
        warnings.warn(
            f"a GRU with {units} units uses cuDNN, which is slower, since its Triton kernel does"
            f" not run on {device}: {reason[0]}",
            stacklevel=2,
        )
        return None
    return kernel


@torch.inference_mode(False)
def _try(kernel: GRU, device: torch.device, units: int) -> None:
    """Run one frame of one sequence without gradients, and forward and backward with them."""
    x = torch.zeros(1, 1, units, device=device, requires_grad=True)
    hidden = torch.zeros(1, units, device=device)
    matrix = torch.zeros(3 * units, units, device=device)
    bias = torch.zeros(3 * units, device=device)
    arguments = x, hidden, (matrix, matrix, bias, bias)
    with torch.no_grad():
        kernel(*arguments)
    with torch.enable_grad():
        y = kernel(*arguments)
    torch.autograd.grad(y.sum(), x)

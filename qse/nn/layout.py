"""How features (B, 4, C, T, F) lie in memory: F innermost as torch makes them, or components and channels innermost.

The second order is what matrix units are fed with and what tokens need: convolutions in bfloat16 are four times as fast
in it. It is a matter of strides only; no shape and no value depends on it. Norms, functions of single numbers, and
convolutions in bfloat16 keep the order of their input; `join` does so where torch.cat would not.
"""

import torch
from torch import Tensor

INNER = (0, 3, 4, 1, 2)  # of B, 4, C, T, F: B, T, F, 4, C; the way back is the same permutation


def channels_innermost(x: Tensor) -> Tensor:
    """x with components and channels innermost."""
    return x.permute(INNER).contiguous().permute(INNER)


def is_channels_innermost(x: Tensor) -> bool:
    return x.ndim == 5 and x.stride(2) == 1 and x.stride(1) == x.shape[2]


def join(parts: list[Tensor], dim: int) -> Tensor:
    """torch.cat along `dim`, counted from the end; in the order of the last part, forwards and backwards."""
    if is_channels_innermost(parts[-1]):
        return _Join.apply(INNER.index(dim % 5), *parts)
    return torch.cat(parts, dim)


class _Join(torch.autograd.Function):
    """The gradient of a part is a tensor of its own. That of torch.cat is a slice, and work on slices is slow."""

    @staticmethod
    def forward(ctx, dim: int, *parts: Tensor) -> Tensor:
        parts = [part.permute(INNER) for part in parts]
        ctx.dim, ctx.sizes = dim, [part.shape[dim] for part in parts]
        return torch.cat(parts, dim).permute(INNER)

    @staticmethod
    def backward(ctx, gradient: Tensor) -> tuple[Tensor | None, ...]:
        parts = gradient.permute(INNER).split(ctx.sizes, ctx.dim)
        needed = zip(parts, ctx.needs_input_grad[1:], strict=True)
        return None, *(part.contiguous().permute(INNER) if need else None for part, need in needed)

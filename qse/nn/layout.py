"""How features (B, 4, C, T, F) lie in memory: F innermost, as torch makes them, or components and channels innermost.

The second order is the one that matrix units are fed with, and tokens (B, T, F, 4, C) come out of it as a view:
convolutions in bfloat16 are four times as fast in it. It is a matter of strides only, no shape depends on it. Norms,
functions of single numbers, and convolutions in bfloat16 keep the order of their input; `join` does where torch.cat
would not.
"""

from typing import Any

import torch
from torch import Tensor


def to_tokens(x: Tensor) -> Tensor:
    """(B, 4, C, T, F) -> (B, T, F, 4, C), a view."""
    return x.permute(0, 3, 4, 1, 2)


def to_features(x: Tensor) -> Tensor:
    """(B, T, F, 4, C) -> (B, 4, C, T, F), a view."""
    return x.permute(0, 3, 4, 1, 2)


def channels_innermost(x: Tensor) -> Tensor:
    """Features with components and channels innermost."""
    return to_features(to_tokens(x).contiguous())


def is_channels_innermost(x: Tensor) -> bool:
    return x.ndim == 5 and x.stride(2) == 1 and x.stride(1) == x.shape[2]


def join(parts: list[Tensor], dim: int) -> Tensor:
    """torch.cat of features along `dim`, counted from the end; the result has the order of the last part."""
    if not is_channels_innermost(parts[-1]):
        return torch.cat(parts, dim)
    tokens, place = [to_tokens(part) for part in parts], (0, 3, 4, 1, 2).index(dim % 5)
    return to_features(_Join.apply(place, *tokens) if torch.is_grad_enabled() else torch.cat(tokens, place))


class _Join(torch.autograd.Function):
    """torch.cat, but the gradient of a part is a tensor of its own: that of torch.cat is a slice, slow to work on."""

    @staticmethod
    def forward(ctx: Any, dim: int, *parts: Tensor) -> Tensor:
        ctx.dim, ctx.sizes = dim, [part.shape[dim] for part in parts]
        wide = _packed(*parts)
        joined = torch.cat(wide, dim)
        return joined if wide[0] is parts[0] else joined.view(parts[0].dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        parts = zip(gradient.split(ctx.sizes, ctx.dim), ctx.needs_input_grad[1:], strict=True)
        return None, *(_Move.apply(part, tuple(range(part.ndim))) if needed else None for part, needed in parts)


def moved(x: Tensor, order: tuple[int, ...]) -> Tensor:
    """The axes of x in another order, the last one in its place, in memory as well."""
    return _Move.apply(x, order) if torch.is_grad_enabled() else x.permute(order)


class _Move(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, order: tuple[int, ...]) -> Tensor:
        ctx.back = tuple(sorted(range(x.ndim), key=order.__getitem__))
        (wide,) = _packed(x.permute(order))
        return wide.clone(memory_format=torch.contiguous_format).view(x.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return _Move.apply(gradient, ctx.back), None


def _packed(*parts: Tensor) -> list[Tensor]:
    """The same memory, with neighbours on the last axis taken as one item without a meaning, of up to 16 bytes: to move
    eight numbers of two bytes at once takes little longer than to move one of them. Parts of several types, or that do
    not fit, come back as they are.
    """
    for kind in () if torch.compiler.is_compiling() else (torch.complex128, torch.int64, torch.int32):
        numbers = kind.itemsize // parts[0].element_size()
        if numbers and all(part.dtype == parts[0].dtype and _fits(part, numbers) for part in parts):
            return [part.view(kind) for part in parts]
    return list(parts)


def _fits(x: Tensor, numbers: int) -> bool:
    others = (x.storage_offset(), x.shape[-1], *x.stride()[:-1])
    return x.stride(-1) == 1 and all(number % numbers == 0 for number in others)

"""Set the memory order of features (B, 4, C, T, F): F innermost (torch's default), or components
and channels.

The second order suits matrix units, and gives tokens (B, T, F, 4, C) as a view: convolutions in
bfloat16 are four times as fast in it. Only strides change, never shapes. Norms, element-wise
functions and bfloat16 convolutions keep the order of their input; `join` does where torch.cat would
not.

Real features (B, C, T, F) and tokens (B, T, F, C), as in an exported network, pass through the same
functions.
"""

from typing import Any

import torch
from torch import Tensor


def to_tokens(x: Tensor) -> Tensor:
    """Return features (B, 4, C, T, F) as tokens (B, T, F, 4, C), a view."""
    return x.movedim((-2, -1), (1, 2))


def to_features(x: Tensor) -> Tensor:
    """Return tokens (B, T, F, 4, C) as features (B, 4, C, T, F), a view."""
    return x.movedim((1, 2), (-2, -1))


def channels_innermost(x: Tensor) -> Tensor:
    """Copy features so that components and channels lie innermost."""
    return to_features(to_tokens(x).contiguous())


def is_channels_innermost(x: Tensor) -> bool:
    """Return whether quaternion features (five axes) lie so; False for real ones."""
    return x.ndim == 5 and x.stride(2) == 1 and x.stride(1) == x.shape[2]


def join(parts: list[Tensor], dim: int) -> Tensor:
    """Concatenate features along `dim`, counted from the end; the result has the memory order of
    the last part."""
    if not is_channels_innermost(parts[-1]):
        return torch.cat(parts, dim)
    tokens = list(map(to_tokens, parts))
    token_dim = (0, 3, 4, 1, 2).index(dim % 5)
    return to_features(
        _Join.apply(token_dim, *tokens) if torch.is_grad_enabled() else torch.cat(tokens, token_dim)
    )


class _Join(torch.autograd.Function):
    """Concatenate with contiguous gradients; those of torch.cat are slices, which are slow to
    compute with."""

    @staticmethod
    def forward(ctx: Any, dim: int, *parts: Tensor) -> Tensor:
        ctx.dim = dim
        ctx.sizes = [part.shape[dim] for part in parts]
        words = _packed(*parts)
        joined = torch.cat(words, dim)
        return joined if words[0] is parts[0] else joined.view(parts[0].dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        order = tuple(range(gradient.ndim))
        gradients = []
        parts = gradient.split(ctx.sizes, ctx.dim)
        for part, needed in zip(parts, ctx.needs_input_grad[1:], strict=True):
            gradients.append(_Move.apply(part, order) if needed else None)
        return None, *gradients


def moved(x: Tensor, order: tuple[int, ...]) -> Tensor:
    """Permute the axes of x, the last one in its place, and copy to contiguous memory when
    gradients are recorded."""
    return _Move.apply(x, order) if torch.is_grad_enabled() else x.permute(order)


class _Move(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, order: tuple[int, ...]) -> Tensor:
        ctx.back = tuple(sorted(range(x.ndim), key=order.__getitem__))
        (words,) = _packed(x.permute(order))
        return words.clone(memory_format=torch.contiguous_format).view(x.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return _Move.apply(gradient, ctx.back), None


def _packed(*parts: Tensor) -> list[Tensor]:
    """Reinterpret adjacent values on the last axis as one wider word of up to 16 bytes, which
    copies faster.

    Parts of several types, or whose offsets and strides are no multiple of the word, come back
    unchanged.
    """
    if torch.compiler.is_compiling():
        return list(parts)
    for word in (torch.complex128, torch.int64, torch.int32):
        count = word.itemsize // parts[0].element_size()
        if count and all(part.dtype == parts[0].dtype and _fits(part, count) for part in parts):
            return [part.view(word) for part in parts]
    return list(parts)


def _fits(x: Tensor, count: int) -> bool:
    sizes = (x.storage_offset(), x.shape[-1], *x.stride()[:-1])
    return x.stride(-1) == 1 and all(size % count == 0 for size in sizes)

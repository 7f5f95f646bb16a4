"""Tensors and modules for tests of layers: random values, comparison, modules as after some
training."""

from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor, nn

Module = TypeVar("Module", bound=nn.Module)


def draw(*shape: int, seed: int | None = None) -> Tensor:
    """Return normal random numbers, float64; of a generator of their own if `seed` is given."""
    generator = None if seed is None else torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


def close(found: Tensor, expected: Tensor, atol: float = 1e-11) -> None:
    """Raise AssertionError where two float64 tensors differ by more than rounding."""
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=atol)


@torch.no_grad()
def as_trained(module: Module, scale: float = 0.1) -> Module:
    """Return the module in eval mode, with biases, gains and statistics as after some training."""
    for parameter in module.parameters():
        parameter.add_(scale * torch.randn_like(parameter))
    for name, buffer in module.named_buffers():
        if "running" in name:
            buffer.copy_(0.5 + torch.rand_like(buffer))
    return module.eval()


def count(module: nn.Module) -> int:
    """Return the number of parameters."""
    return sum(parameter.numel() for parameter in module.parameters())


def sixteen_products(x, w, product: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Return x (x) w by Eqs. 24-27 and 29-32: the products of x = (x0..x3) and w = (w0..w3), and
    their signs."""
    (x0, x1, x2, x3) = x
    (w0, w1, w2, w3) = w
    return torch.stack(
        [
            product(x0, w0) - product(x1, w1) - product(x2, w2) - product(x3, w3),
            product(x0, w1) + product(x1, w0) + product(x2, w3) - product(x3, w2),
            product(x0, w2) - product(x1, w3) + product(x2, w0) + product(x3, w1),
            product(x0, w3) + product(x1, w2) - product(x2, w1) + product(x3, w0),
        ]
    )

"""Measure a quaternion layer in four forms: real matrix of Eq. 28, 16 real products, 8 products,
folded.

The library uses the first in training and the last in an exported graph; the other two are defined
here.
x (N, 4, C) for a linear layer, (B, 4, C, T, F) for a convolution.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

from qse.bench import Request, torch_threads
from qse.bench.table import Column, Table
from qse.machine import machine
from qse.nn.conv import QuaternionConv2d
from qse.nn.linear import QuaternionLinear
from qse.nn.quaternion import PART, SIGN, hamilton_matrix
from qse.runtime.timing import race

Real = Callable[[Tensor, Tensor], Tensor]  # a real layer: x, weight -> y, without its bias
# a forward pass, and the tensors that get a gradient
Call = tuple[Callable[[], Tensor], tuple[Tensor, Tensor]]

SIZES = {
    "linear, 20 tokens, 16 -> 16": ((20, 16), 16, None),
    "linear, 4096 tokens, 16 -> 48": ((4096, 16), 48, None),
    "linear, 512 tokens, 256 -> 256": ((512, 256), 256, None),
    "conv 2 x 3, 1 frame of 80, 16 -> 4": ((1, 16, 2, 82), 4, (2, 3)),
    "conv 3 x 3, 128 frames of 64, 16 -> 16": ((1, 16, 130, 66), 16, (3, 3)),
}

COLUMNS = (
    Column("layer", "layer"),
    Column("form", "computed by"),
    Column("inference", "inference µs", ".0f", 1e6),
    Column("training", "training µs", ".0f", 1e6),
    Column("inference_ratio", "inference / matrix", ".2f"),
    Column("training_ratio", "training / matrix", ".2f"),
)


def by_matrix(real: Real, x: Tensor, weight: Tensor) -> Tensor:
    """Expand the weight to the real matrix of Eq. 28; one real layer."""
    y = real(x.flatten(1, 2), hamilton_matrix(weight))
    return y.unflatten(1, (4, -1))


def by_16_products(real: Real, x: Tensor, weight: Tensor) -> Tensor:
    """Compute each entry of Eq. 28 separately."""
    parts = x.unbind(1)
    rows = []
    for signs, order in zip(SIGN, PART, strict=True):
        row = x.new_zeros(())
        for sign, part, component in zip(signs, parts, order, strict=True):
            row = row + sign * real(part, weight[component])
        rows.append(row)
    return torch.stack(rows, 1)


def by_8_products(real: Real, x: Tensor, weight: Tensor) -> Tensor:
    """Compute eight real products of sums (Howell & Lafon 1975, "The complexity of the quaternion
    product")."""
    (a, b, c, d) = x.unbind(1)
    (e, f, g, h) = weight.unbind(0)
    s = real(b + d, f + g)
    t = real(b - d, f - g)
    u = real(a + c, e - h)
    v = real(a - c, e + h)
    rows = (
        real(d - c, g - h) + (u + v - s - t) / 2,
        real(a + b, e + f) - (s + t + u + v) / 2,
        real(a - b, g + h) + (s - t + u - v) / 2,
        real(c + d, e - f) + (s - t - u + v) / 2,
    )
    return torch.stack(rows, 1)


FORMS = {"real matrix": by_matrix, "16 products": by_16_products, "8 products": by_8_products}


def bench(request: Request) -> Table:
    """Time all forms at all SIZES, training (forward and backward) and inference; `request.seconds`
    for each form."""
    rows = []
    with torch_threads(request.threads):
        for name in SIZES:
            rows += _rows(name, request.seconds / 2)
    notes = ("folded: the real matrix is made in advance.",)
    return Table("layers", COLUMNS, rows, machine(request.threads), notes)


def _rows(name: str, seconds: float) -> list[dict]:
    shape, out_channels, kernel = SIZES[name]
    forms = layer_calls(shape, out_channels, kernel)
    inference_calls = {}
    training_calls = {}
    for form, (call, leaves) in forms.items():
        inference_calls[form] = _inference(call)
        training_calls[form] = _training(call, leaves)
    inference = race(inference_calls, seconds)
    training = race(training_calls, seconds)

    first = next(iter(forms))
    rows = []
    for form in forms:
        row = {
            "layer": name,
            "form": form,
            "inference": inference[form].median,
            "training": training[form].median,
            "inference_ratio": inference[form].median / inference[first].median,
            "training_ratio": training[form].median / training[first].median,
        }
        rows.append(row)
    return rows


def layer_calls(
    shape: tuple[int, ...], out_channels: int, kernel: tuple[int, int] | None
) -> dict[str, Call]:
    """Return for each form the call and the tensors that get a gradient."""
    torch.manual_seed(0)
    if kernel is None:
        weight = QuaternionLinear(shape[-1], out_channels, bias=False).weight
        real = F.linear
        x = torch.randn(*shape[:-1], 4, shape[-1], requires_grad=True)
    else:
        weight = QuaternionConv2d(shape[1], out_channels, kernel, bias=False).weight
        real = F.conv2d
        x = torch.randn(shape[0], 4, *shape[1:], requires_grad=True)
    folded = hamilton_matrix(weight).detach().requires_grad_()
    calls: dict[str, Call] = {}
    for form, compute in FORMS.items():
        calls[form] = (partial(compute, real, x, weight), (x, weight))
    calls["folded"] = (lambda: real(x.flatten(1, 2), folded), (x, folded))
    return calls


def _inference(call: Callable[[], Tensor]) -> Callable[[], Tensor]:
    def run() -> Tensor:
        with torch.inference_mode():
            return call()

    return run


def _training(call: Callable[[], Tensor], leaves: tuple[Tensor, ...]) -> Callable[[], object]:
    return lambda: torch.autograd.grad(call().sum(), leaves)

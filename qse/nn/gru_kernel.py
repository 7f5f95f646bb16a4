"""Compute a GRU recurrence on CUDA: one Triton kernel over all frames forward, one backward.

A program takes ROWS sequences and keeps the three recurrent matrices on the chip from the first
frame to the last. The product of the input and the gradients of the weights are matrix products
outside. Products are in bfloat16, float16 or float32; sums and hidden units are in float32. Nothing
is read back to the host, so a CUDA graph can hold the launches; the first call for a number of
units compiles, so it comes before the capture.

A kernel of the same design was measured on an H100 (bfloat16, 2,560 sequences of 159 frames, 80
units): 3.5 ms forward and backward, where cuDNN took 24 ms. This one has not been measured.

N sequences, T frames, I inputs, H units; gates in the order r, z, n; g is what a frame's input adds
to the gates, y0 and y are the hidden units before and after it:

r = sigma(g_r + U_r y0 + c_r),  z = sigma(g_z + U_z y0 + c_z),  m = U_n y0 + c_n,
n = tanh(g_n + r * m),  y = (1 - z) * n + z * y0.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear

ROWS = tl.constexpr(16)  # sequences per program: the fewest rows of a product on tensor cores


@torch.compiler.disable  # a compiler would look into the launches
def gru(
    x: Tensor,
    hidden: Tensor,
    weights: tuple[Tensor, Tensor, Tensor, Tensor],
    product: torch.dtype = torch.float32,
) -> Tensor:
    """Compute torch.gru: x (N, T, I), hidden (N, H) -> (N, T, H), the hidden units after every
    frame, float32.

    weights: of the input (3 H, I), of the hidden units (3 H, H), and the biases (3 H,) of both;
    float32 like `hidden`. product: the type of the products.
    """
    w_input, w_hidden, b_input, b_hidden = weights
    inputs = x.to(product).flatten(0, 1)
    gates = linear(inputs, w_input.to(product), b_input.to(product)).unflatten(0, x.shape[:2])
    arguments = gates, hidden, w_hidden.to(product), b_hidden
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in arguments):
        return _Recurrence.apply(*arguments)
    y, _ = _run(*arguments, keep=False)
    return y


class _Recurrence(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gates: Tensor, hidden: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        y, kept = _run(gates, hidden, weight, bias, keep=True)
        ctx.save_for_backward(kept, weight)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_y: Tensor) -> tuple[Tensor, ...]:
        kept, weight = ctx.saved_tensors
        (count, frames, units) = of_y.shape
        of_gates = kept.new_empty(count, frames, 4 * units)
        of_hidden = of_y.new_empty(count, units)
        given = of_y.contiguous(), kept, weight.contiguous()
        _launch(_backward, (*given, of_gates, of_hidden), of_y)
        flat = of_gates.flatten(0, 1)
        before = kept.flatten(0, 1)[:, 4 * units :]
        of_weight = _without_n(flat.t() @ before)
        of_bias = _without_n(flat.sum(0, dtype=torch.float32))
        return of_gates[..., : 3 * units], of_hidden, of_weight, of_bias


def _run(
    gates: Tensor, hidden: Tensor, weight: Tensor, bias: Tensor, keep: bool
) -> tuple[Tensor, Tensor]:
    """Return the hidden units (N, T, H) and what the backward kernel needs (N, T, 5 H)."""
    (count, frames, _) = gates.shape
    units = hidden.shape[1]
    y = hidden.new_empty(count, frames, units)
    kept = gates.new_empty(count, frames, 5 * units if keep else 0)
    given = (tensor.contiguous() for tensor in (gates, hidden, weight, bias))
    _launch(_forward, (*given, y, kept), y, KEEP=keep)
    return y, kept


def _without_n(rows: Tensor) -> Tensor:
    """Leave the gate n out of r, z, n, m: n has no part in the gradients of the hidden side."""
    r, z, _, m = rows.chunk(4)
    return torch.cat([r, z, m])


def _launch(kernel: Any, tensors: tuple[Tensor, ...], y: Tensor, **flags: bool) -> None:
    """Run a kernel for the sequences, frames and units of y (N, T, H), on the device of y."""
    (count, frames, units) = y.shape
    programs = triton.cdiv(count, ROWS.value)
    with torch.cuda.device_of(y):
        kernel[(programs,)](*tensors, count, frames, **options(units), **flags)


def options(units: int) -> dict[str, int]:
    """Return the constants and the compiler's options for a number of units."""
    width = max(16, triton.next_power_of_2(units))
    warps = 8 if width >= 64 else 4
    return {"UNITS": units, "WIDTH": width, "num_warps": warps, "num_stages": 2}


@triton.jit(do_not_specialize=["count", "frames"])
def _forward(
    gates: tl.tensor,
    hidden: tl.tensor,
    weight: tl.tensor,
    bias: tl.tensor,
    after: tl.tensor,
    kept: tl.tensor,
    count: tl.tensor,
    frames: tl.tensor,
    UNITS: tl.constexpr,
    WIDTH: tl.constexpr,
    KEEP: tl.constexpr,
) -> None:
    """gates (N, T, 3 H), hidden (N, H), weight (3 H, H), bias (3 H,) -> after (N, T, H) and, with
    KEEP, kept (N, T, 5 H): r, z, n, m, y0."""
    product: tl.constexpr = weight.dtype.element_ty
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None].to(tl.int64)
    unit = tl.arange(0, WIDTH)[None, :]
    inside = unit < UNITS
    valid = (row < count) & inside
    before = tl.arange(0, WIDTH)[:, None]
    matrix = weight + unit * UNITS + before  # transposed
    square = inside & (before < UNITS)
    weight_r = tl.load(matrix, mask=square, other=0.0)
    weight_z = tl.load(matrix + UNITS * UNITS, mask=square, other=0.0)
    weight_n = tl.load(matrix + 2 * UNITS * UNITS, mask=square, other=0.0)
    bias_r = tl.load(bias + unit, mask=inside, other=0.0)
    bias_z = tl.load(bias + UNITS + unit, mask=inside, other=0.0)
    bias_n = tl.load(bias + 2 * UNITS + unit, mask=inside, other=0.0)
    y = tl.load(hidden + row * UNITS + unit, mask=valid, other=0.0)
    for frame in range(frames):
        place = row * frames + frame
        gate = gates + place * 3 * UNITS + unit
        g_r = tl.load(gate, mask=valid, other=0.0).to(tl.float32)
        g_z = tl.load(gate + UNITS, mask=valid, other=0.0).to(tl.float32)
        g_n = tl.load(gate + 2 * UNITS, mask=valid, other=0.0).to(tl.float32)
        y0 = y.to(product)
        r = tl.sigmoid(g_r + bias_r + tl.dot(y0, weight_r, input_precision="ieee"))
        z = tl.sigmoid(g_z + bias_z + tl.dot(y0, weight_z, input_precision="ieee"))
        m = bias_n + tl.dot(y0, weight_n, input_precision="ieee")
        n = 2 * tl.sigmoid(2 * (g_n + r * m)) - 1  # tanh
        y = (1 - z) * n + z * y
        tl.store(after + place * UNITS + unit, y, mask=valid)
        if KEEP:
            keep = kept + place * 5 * UNITS + unit
            tl.store(keep, r.to(product), mask=valid)
            tl.store(keep + UNITS, z.to(product), mask=valid)
            tl.store(keep + 2 * UNITS, n.to(product), mask=valid)
            tl.store(keep + 3 * UNITS, m.to(product), mask=valid)
            tl.store(keep + 4 * UNITS, y0, mask=valid)


@triton.jit(do_not_specialize=["count", "frames"])
def _backward(
    of_after: tl.tensor,
    kept: tl.tensor,
    weight: tl.tensor,
    of_gates: tl.tensor,
    of_hidden: tl.tensor,
    count: tl.tensor,
    frames: tl.tensor,
    UNITS: tl.constexpr,
    WIDTH: tl.constexpr,
) -> None:
    """Gradient of_after (N, T, H), kept, weight -> of_gates (N, T, 4 H), the gradients of g_r, g_z,
    g_n and m, and of_hidden (N, H)."""
    product: tl.constexpr = weight.dtype.element_ty
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None].to(tl.int64)
    unit = tl.arange(0, WIDTH)[None, :]
    valid = (row < count) & (unit < UNITS)
    gate = tl.arange(0, WIDTH)[:, None]
    matrix = weight + gate * UNITS + unit
    square = (gate < UNITS) & (unit < UNITS)
    weight_r = tl.load(matrix, mask=square, other=0.0)
    weight_z = tl.load(matrix + UNITS * UNITS, mask=square, other=0.0)
    weight_n = tl.load(matrix + 2 * UNITS * UNITS, mask=square, other=0.0)
    of_y = tl.zeros((ROWS, WIDTH), tl.float32)
    for step in range(frames):
        place = row * frames + (frames - 1 - step)
        of_y += tl.load(of_after + place * UNITS + unit, mask=valid, other=0.0)
        keep = kept + place * 5 * UNITS + unit
        r = tl.load(keep, mask=valid, other=0.0).to(tl.float32)
        z = tl.load(keep + UNITS, mask=valid, other=0.0).to(tl.float32)
        n = tl.load(keep + 2 * UNITS, mask=valid, other=0.0).to(tl.float32)
        m = tl.load(keep + 3 * UNITS, mask=valid, other=0.0).to(tl.float32)
        y0 = tl.load(keep + 4 * UNITS, mask=valid, other=0.0).to(tl.float32)
        of_n = of_y * (1 - z) * (1 - n * n)
        of_r = (of_n * m * r * (1 - r)).to(product)
        of_z = (of_y * (y0 - n) * z * (1 - z)).to(product)
        of_m = (of_n * r).to(product)
        of_gate = of_gates + place * 4 * UNITS + unit
        tl.store(of_gate, of_r, mask=valid)
        tl.store(of_gate + UNITS, of_z, mask=valid)
        tl.store(of_gate + 2 * UNITS, of_n.to(product), mask=valid)
        tl.store(of_gate + 3 * UNITS, of_m, mask=valid)
        of_y = tl.dot(of_r, weight_r, of_y * z, input_precision="ieee")
        of_y = tl.dot(of_z, weight_z, of_y, input_precision="ieee")
        of_y = tl.dot(of_m, weight_n, of_y, input_precision="ieee")
    tl.store(of_hidden + row * UNITS + unit, of_y, mask=valid)

"""Convolve with a faster weight gradient on a CPU.

For channels innermost in memory, torch's weight gradient takes 1.5 to 5 times as long as a forward
pass. Here it is one matrix product over all positions of the kernel.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

Pair = tuple[int, int]
FEW = 8  # channels: up to this number torch's weight gradient is as fast


def conv2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Pair = (1, 1),
    padding: Pair = (0, 0),
    dilation: Pair = (1, 1),
) -> Tensor:
    """Compute conv2d, (B, C, T, F) and (C', C, kt, kf) -> (B, C', T', F'); `_trains_here` says with
    which gradient."""
    if not _trains_here(x, weight):
        return F.conv2d(x, weight, bias, stride, padding, dilation)
    if (weight.shape[2:], stride, padding) == ((1, 1), (1, 1), (0, 0)):
        return F.linear(x.permute(0, 2, 3, 1), weight[..., 0, 0], bias).permute(0, 3, 1, 2)
    return _Conv2d.apply(x, weight, bias, stride, padding, dilation)


def _trains_here(x: Tensor, weight: Tensor) -> bool:
    """Return whether the gradient of this file is used: on a CPU, without autocast, for more than
    FEW channels."""
    return (
        torch.is_grad_enabled()
        and weight.requires_grad
        and not torch.compiler.is_compiling()
        and x.device.type == "cpu"
        and x.dtype in (torch.float32, torch.float64)
        and not torch.is_autocast_enabled("cpu")
        and x.stride(1) == 1
        and min(weight.shape[:2]) > FEW
    )


class _Conv2d(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        stride: Pair,
        padding: Pair,
        dilation: Pair,
    ) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.geometry = stride, padding, dilation
        return F.conv2d(x, weight, bias, stride, padding, dilation)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        # the bias gradient would need the weight gradient
        only_x = [ctx.needs_input_grad[0], False, False]
        by_x, *_ = torch.ops.aten.convolution_backward(
            gradient, x, weight, None, *ctx.geometry, False, (0, 0), 1, only_x
        )
        by_bias = gradient.sum((0, 2, 3)) if ctx.needs_input_grad[2] else None
        return by_x, _by_weight(gradient, x, weight.shape, *ctx.geometry), by_bias, None, None, None


def _by_weight(
    gradient: Tensor, x: Tensor, shape: torch.Size, stride: Pair, padding: Pair, dilation: Pair
) -> Tensor:
    """Return the weight gradient; the side with fewer channels (with a stride always x) is
    unfolded."""
    outputs, inputs, *kernel = shape
    if outputs < inputs and stride == (1, 1):
        time = dilation[0] * (kernel[0] - 1) - padding[0]
        frequency = dilation[1] * (kernel[1] - 1) - padding[1]
        shifted = _shifted(gradient, x.shape[2:], kernel, stride, (time, frequency), dilation)
        product = shifted.T @ x.permute(0, 2, 3, 1).flatten(0, 2)
        return product.view(*kernel, outputs, inputs).flip(0, 1).permute(2, 3, 0, 1)
    shifted = _shifted(x, gradient.shape[2:], kernel, stride, padding, dilation)
    product = gradient.permute(0, 2, 3, 1).flatten(0, 2).T @ shifted
    return product.view(outputs, *kernel, inputs).permute(0, 3, 1, 2)


def _shifted(
    x: Tensor, size: torch.Size, kernel: list[int], stride: Pair, padding: Pair, dilation: Pair
) -> Tensor:
    """Unfold the input of each kernel position: (B, C, T, F) ->
    (B * size[0] * size[1], kt * kf * C)."""
    (time, frequency) = padding
    (batch, channels) = x.shape[:2]
    x = F.pad(x.permute(0, 2, 3, 1), (0, 0, frequency, frequency, time, time))
    b, t, f, c = x.stride()
    steps = (b, stride[0] * t, stride[1] * f, dilation[0] * t, dilation[1] * f, c)
    return x.as_strided((batch, *size, *kernel, channels), steps).flatten(3).flatten(0, 2)

"""Quaternion layers as the published Conformer computes them, on one axis of real channels.

Components come first: channels [r; i; j; k]. Weights stand left of the input, W (x) x. Sizes are
counted in reals.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from qse.export.real_form import register
from qse.nn.init import quaternion_init_
from qse.nn.quaternion import conjugate, hamilton_matrix


def left_matrix(weight: Tensor) -> Tensor:
    """Return the real matrix of x -> w (x) x: (4, out, in, *kernel) -> (4 out, 4 in, *kernel).

    w (x) x is the conjugate of x* (x) w*.
    """
    _, out, into, *kernel = weight.shape
    matrix = hamilton_matrix(conjugate(weight, 0)).unflatten(0, (4, out)).unflatten(2, (4, into))
    signs = conjugate(weight.new_ones(4))
    rows = signs.view(4, 1, 1, 1, *[1] * len(kernel))
    columns = signs.view(1, 1, 4, 1, *[1] * len(kernel))
    return (matrix * rows * columns).flatten(2, 3).flatten(0, 1)


class _Left(nn.Module):
    """A quaternion weight (4, out, in, *kernel) and a bias (out,)."""

    def __init__(self, into: int, out: int, kernel: tuple[int, ...] = (), bias: bool = True):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(4, out // 4, into // 4, *kernel))
        quaternion_init_(self.weight.data)
        self.bias = nn.Parameter(torch.zeros(out)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        return self.transform(x, left_matrix(self.weight))

    def transform(self, x: Tensor, matrix: Tensor) -> Tensor:
        """Return what the layer makes of `x` with its real matrix, (out, in, *kernel)."""
        raise NotImplementedError


class Constant(nn.Module):
    """A layer whose real matrix is a constant, for export."""

    matrix: Tensor

    def __init__(self, layer: _Left):
        super().__init__()
        self.layer = layer
        self.register_buffer("matrix", left_matrix(layer.weight))

    def forward(self, x: Tensor) -> Tensor:
        return self.layer.transform(x, self.matrix)


class Linear(_Left):
    """(..., in) -> (..., out)."""

    def transform(self, x: Tensor, matrix: Tensor) -> Tensor:
        return F.linear(x, matrix, self.bias)


class Conv1d(_Left):
    """(N, in, L) -> (N, out, L); the kernel is odd."""

    def __init__(self, into: int, out: int, kernel: int, bias: bool):
        super().__init__(into, out, (kernel,), bias)

    def transform(self, x: Tensor, matrix: Tensor) -> Tensor:
        padding = self.weight.shape[-1] // 2
        return F.conv1d(x, matrix, self.bias, padding=padding)


class Conv2d(_Left):
    """(B, in, T, F) -> (B, out, T, F / stride): without bias, dilated along time; odd kernels."""

    def __init__(self, into: int, out: int, kernel: int, dilation: int = 1, stride: int = 1):
        super().__init__(into, out, (kernel, kernel), bias=False)
        self.dilation = (dilation, 1)
        self.stride = (1, stride)
        self.padding = (kernel // 2 * dilation, kernel // 2)

    def transform(self, x: Tensor, matrix: Tensor) -> Tensor:
        return F.conv2d(x, matrix, None, self.stride, self.padding, self.dilation)


class Upsample(_Left):
    """Transposed convolution: (B, C, T, F) -> (B, C, T, 2 F - 1)."""

    def __init__(self, channels: int):
        super().__init__(channels, channels, (3, 3), bias=False)

    def transform(self, x: Tensor, matrix: Tensor) -> Tensor:
        return F.conv_transpose2d(x, matrix, None, (1, 2), (1, 1))


for kind in (Linear, Conv1d, Conv2d, Upsample):
    register(kind, Constant)


class BatchNorm(nn.Module):
    """Subtract the mean quaternion, divide by one deviation: (B, C, T, F) -> the same."""

    moving_mean: Tensor
    moving_var: Tensor

    def __init__(self, channels: int):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(1, channels // 4, 1, 1))
        self.beta = nn.Parameter(torch.zeros(1, channels, 1, 1))
        self.register_buffer("moving_mean", torch.zeros(4))
        self.register_buffer("moving_var", torch.ones(1))

    def forward(self, x: Tensor) -> Tensor:
        x = x.unflatten(1, (4, -1))
        mean = self.moving_mean
        variance = self.moving_var
        if self.training:
            mean = x.mean((0, 2, 3, 4))
            variance = (x - mean.view(4, 1, 1, 1)).square().sum(1).mean()[None]
            with torch.no_grad():
                self.moving_mean.lerp_(mean, 0.1)
                self.moving_var.lerp_(variance, 0.1)
        x = (x - mean.view(4, 1, 1, 1)) / (variance + 1e-5).sqrt()
        return (self.gamma[:, None] * x).flatten(1, 2) + self.beta

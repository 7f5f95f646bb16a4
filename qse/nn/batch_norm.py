"""Normalise quaternion features over the batch, and fold batch norms into the convolution before
them.

In eval mode a batch norm is a fixed scale and shift per channel, so it can be folded into the
weights: the papers' offline networks do so in every eval forward, `export.real_layers` once.
"""

import torch
from torch import Tensor, nn

from .declared import FEATURES


class QuaternionBatchNorm2d(nn.BatchNorm2d):
    """Normalise each component of each channel of (B, 4, C, T, F); in eval mode by running
    statistics."""

    quaternion_axis = FEATURES

    def __init__(self, channels: int):
        super().__init__(4 * channels)

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.flatten(1, 2)).unflatten(1, (4, -1))


def fold_batch_norm(
    weight: Tensor, bias: Tensor | None, norm: nn.BatchNorm2d
) -> tuple[Tensor, Tensor]:
    """Return the real kernel (out, in, kt, kf) and bias (out,) of a convolution followed by `norm`
    in eval mode."""
    scale = norm.weight * torch.rsqrt(norm.get_buffer("running_var") + norm.eps)
    mean = norm.get_buffer("running_mean")
    return weight * scale[:, None, None, None], norm.bias + scale * (
        -mean if bias is None else bias - mean
    )

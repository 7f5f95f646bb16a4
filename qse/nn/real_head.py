"""Compute real numbers, such as those of a mask, from quaternion features."""

from torch import Tensor, nn


class RealHead(nn.Conv2d):
    """Convolve quaternion features to real ones: (B, 4, C, T, F) -> (B, outputs, T, F), zero-padded
    along frequency.

    kernel: (1, odd): a head has no memory along time. The four components of a channel are four
    real channels.
    """

    def __init__(self, channels: int, outputs: int, kernel: tuple[int, int] = (1, 1)):
        if kernel[0] != 1 or not kernel[1] % 2:
            raise ValueError(f"kernel {kernel}: one frame and an odd number of bins")
        super().__init__(4 * channels, outputs, kernel, padding=(0, kernel[1] // 2))

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.flatten(1, -3))

"""Compute the centred STFT of a complete recording and its inverse as convolutions.

Frame t is centred on sample t * hop_length; both ends are padded with zeros; the window is a
periodic Hann window. The numbers are those of torch.stft and torch.istft, but convolutions export
to ONNX with a free number of samples.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from qse.nn.stft import bin_weights, fourier_basis

SMALLEST = 1e-11  # of the sum of squared windows that the inverse divides by


class CentredSTFT(nn.Module):
    """Compute the STFT of (B, N): (B, 2, T, F) real and imaginary part, T = 1 + N // hop_length, F
    = n_fft / 2 + 1.

    mirrored: the ends are padded with their mirror image, not with zeros; N > n_fft / 2.
    Autocast does not apply: in bfloat16 the rounding of loud bins would cover quiet ones.
    """

    basis: Tensor

    def __init__(self, n_fft: int, hop_length: int, mirrored: bool = False):
        super().__init__()
        self.n_fft = n_fft
        self.hop_length = hop_length
        self.padding = "reflect" if mirrored else "constant"
        basis = fourier_basis(n_fft) * torch.hann_window(n_fft, dtype=torch.float64)
        # 2 F, 1, n_fft
        self.register_buffer("basis", basis.float().flatten(0, 1)[:, None], persistent=False)

    def forward(self, audio: Tensor) -> Tensor:
        half = self.n_fft // 2
        padded = F.pad(audio, (half, half), self.padding)[:, None].to(self.basis.dtype)
        with torch.autocast(audio.device.type, enabled=False):
            spec = F.conv1d(padded, self.basis, stride=self.hop_length)  # B, 2 F, T
        return spec.unflatten(1, (2, -1)).transpose(2, 3)


class CentredISTFT(nn.Module):
    """Invert the STFT by overlap-add, divided by the sum of squared windows: (B, 2, T, F), samples
    -> (B, samples)."""

    basis: Tensor
    squared_window: Tensor

    def __init__(self, n_fft: int, hop_length: int):
        super().__init__()
        self.n_fft = n_fft
        self.hop_length = hop_length
        window = torch.hann_window(n_fft, dtype=torch.float64)
        basis = fourier_basis(n_fft) * window * bin_weights(n_fft)[:, None]
        # 2 F, 1, n_fft
        self.register_buffer("basis", basis.float().flatten(0, 1)[:, None], persistent=False)
        self.register_buffer(
            "squared_window", window.square().float()[None, None], persistent=False
        )

    def forward(self, spec: Tensor, samples: int) -> Tensor:
        frames = spec.transpose(2, 3).flatten(1, 2).to(self.basis.dtype)  # B, 2 F, T
        with torch.autocast(spec.device.type, enabled=False):
            audio = F.conv_transpose1d(frames, self.basis, stride=self.hop_length)[:, 0]
            ones = torch.ones_like(frames[:1, :1])
            weight = F.conv_transpose1d(ones, self.squared_window, stride=self.hop_length)[:, 0]
        return (audio / weight.clamp_min(SMALLEST))[:, self.n_fft // 2 :][:, :samples]

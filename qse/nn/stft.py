"""Compute the STFT and its inverse in streaming layers.

Analysis is a fixed convolution with windowed cosines and sines, synthesis a fixed transposed
convolution, which does the overlap-add. The analysis window has K = n_fft samples, the synthesis
window M + L samples at its end,
M = hop_length, L = overlap, at most M. Their product rises and falls as a Hann window of 2 L
samples does and is one between, so that its copies at hop M add up to one: perfect reconstruction.
With K = 2 M = 2 L both are the square root of a Hann window; with K > M + L the analysis window
rises slowly and falls fast (Mauler & Martin, "A low delay, variable resolution, perfect
reconstruction spectral analysis-synthesis system for speech enhancement", 2007): the frequency
resolution of K at the latency of M + L. With L < M the same latency needs fewer hops per second.
"""

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from .state import Stateful


def window_pair(n_fft: int, hop_length: int, overlap: int) -> tuple[Tensor, Tensor]:
    """Return windows of analysis (n_fft,), at most 1, and synthesis (hop_length + overlap,), at
    most 1.54, float64."""
    size = hop_length + overlap
    if not 0 < overlap <= hop_length:
        raise ValueError(
            f"windows that overlap by {overlap} samples: at least 1 and at most the hop of "
            f"{hop_length}"
        )
    if n_fft < size:
        raise ValueError(
            f"n_fft {n_fft} is shorter than a hop of {hop_length} and an overlap of {overlap} "
            "samples"
        )
    fall = min(size // 2, 2 * overlap)
    rise = min(n_fft - fall, n_fft - size + 2 * overlap)
    analysis = _trapezium(rise, n_fft - rise - fall, fall).sqrt()
    tail = analysis[n_fft - size :]
    product = _trapezium(overlap, hop_length - overlap, overlap)
    return analysis, torch.where(tail > 0, product / tail.clamp_min(1e-30), 0.0)


def _trapezium(rise: int, flat: int, fall: int) -> Tensor:
    """Return the first half of a Hann window, ones, and the second half of another."""
    up = torch.hann_window(2 * rise, dtype=torch.float64)
    down = torch.hann_window(2 * fall, dtype=torch.float64)
    return torch.cat([up[:rise], torch.ones(flat, dtype=torch.float64), down[fall:]])


def fourier_basis(n_fft: int) -> Tensor:
    """Return (2, F, n_fft), float64: rows cos and -sin of the bins 0 .. n_fft / 2."""
    turns = torch.arange(n_fft // 2 + 1)[:, None] * torch.arange(n_fft) % n_fft  # exact
    angle = turns.double() * (2 * math.pi / n_fft)
    return torch.stack([angle.cos(), -angle.sin()])


def bin_weights(n_fft: int) -> Tensor:
    """Return (F,), float64: weights of bins in the inverse transform; all but the first and last
    represent a pair."""
    weight = torch.full((n_fft // 2 + 1,), 2.0 / n_fft, dtype=torch.float64)
    weight[[0, -1]] = 1.0 / n_fft
    return weight


class Analysis(Stateful):
    """Compute the STFT: (B, T * hop_length) samples -> (B, 2, T, F) real and imaginary part, F =
    n_fft / 2 + 1.

    Frame t ends with sample (t + 1) hop_length. State: the last n_fft - hop_length samples.
    Autocast does not apply: in bfloat16 the rounding of loud bins would cover quiet ones. Raises
    ValueError for incomplete hops.
    """

    basis: Tensor

    def __init__(self, n_fft: int, hop_length: int, overlap: int = 0):  # 0: a whole hop
        super().__init__()
        self.n_fft = n_fft
        self.hop_length = hop_length
        self.overlap = overlap or hop_length
        basis = fourier_basis(n_fft) * window_pair(n_fft, hop_length, self.overlap)[0]
        # 2F, 1, n_fft
        self.register_buffer("basis", basis.float().flatten(0, 1)[:, None], persistent=False)

    def forward(self, x: Tensor, past: Tensor | None = None) -> tuple[Tensor, Tensor]:
        if x.shape[1] % self.hop_length:
            raise ValueError(
                f"{x.shape[1]} samples are no multiple of the hop of {self.hop_length}"
            )
        if past is None:
            past = x.new_zeros(x.shape[0], self.n_fft - self.hop_length)
        x = torch.cat([past, x], dim=1)
        with torch.autocast(x.device.type, enabled=False):
            y = F.conv1d(x[:, None], self.basis, stride=self.hop_length)  # B, 2F, T
        return y.unflatten(1, (2, -1)).transpose(2, 3), x[:, x.shape[1] - past.shape[1] :]


class Synthesis(Stateful):
    """Invert the STFT: (B, 2, T, F) -> (B, T * hop_length) samples, delayed by `overlap` samples.

    State: the last `overlap` samples, to which the next frame is added. Autocast does not apply.
    """

    basis: Tensor

    def __init__(self, n_fft: int, hop_length: int, overlap: int = 0):  # 0: a whole hop
        super().__init__()
        self.n_fft = n_fft
        self.hop_length = hop_length
        self.overlap = overlap or hop_length
        self.latency = self.overlap
        window = window_pair(n_fft, hop_length, self.overlap)[1]
        basis = (
            fourier_basis(n_fft)[..., n_fft - len(window) :] * window * bin_weights(n_fft)[:, None]
        )
        # 2F, 1, hop + overlap
        self.register_buffer("basis", basis.float().flatten(0, 1)[:, None], persistent=False)

    def forward(self, spec: Tensor, tail: Tensor | None = None) -> tuple[Tensor, Tensor]:
        x = spec.transpose(2, 3).flatten(1, 2).to(self.basis.dtype)  # B, 2F, T
        with torch.autocast(x.device.type, enabled=False):
            y = F.conv_transpose1d(x, self.basis, stride=self.hop_length)[:, 0]
        if tail is None:
            tail = y.new_zeros(y.shape[0], self.overlap)
        # B, T hop + overlap
        y = torch.cat([y[:, : self.overlap] + tail, y[:, self.overlap :]], dim=1)
        return y[:, : -self.overlap], y[:, -self.overlap :]

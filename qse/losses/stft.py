"""Compute spectra for the losses.

B = batch, N = samples, F = bins, T = frames. Frames are centred on every hop_length-th sample, ends
are reflected, windows are periodic Hann: the bins equal those of `torch.stft` with its defaults.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

QUIETEST = 1e-8  # mean square of a waveform at -80 dBFS: what is quieter counts as silence
# |S|^2 of 16-bit rounding noise in a Hann frame of 512 samples: 2^-30 / 12 * 192 = 1.5e-8
POWER_FLOOR = 1e-8


def check_waveforms(clean: Tensor, enhanced: Tensor) -> None:
    """Raise ValueError unless both are (B, N), of one shape."""
    if clean.ndim != 2 or clean.shape != enhanced.shape:
        raise ValueError(
            f"clean and enhanced must both be (B, N), not {(*clean.shape,)} and "
            f"{(*enhanced.shape,)}"
        )


def stft(x: Tensor, n_fft: int, hop_length: int) -> Tensor:
    """Return the STFT of (B, N), complex (B, F, T); needs N > n_fft / 2."""
    window = torch.hann_window(n_fft, dtype=x.dtype, device=x.device)
    return torch.stft(x, n_fft, hop_length, n_fft, window, pad_mode="reflect", return_complex=True)


def floored(power: Tensor) -> Tensor:
    """Raise powers to at least POWER_FLOOR, for a root or a logarithm; the gradient below it is
    zero."""
    return power.clamp_min(POWER_FLOOR)


def power_spectrum(x: Tensor, n_fft: int, hop_length: int, win_length: int | None = None) -> Tensor:
    """Return |S|^2 of (B, N) as (B, T, F), with a window of `win_length` <= n_fft samples; needs N
    > win_length / 2.

    Twice as fast as squaring `torch.stft`: phase does not matter, so frames have win_length samples
    and no zeros around them, and the gradient is one real inverse FFT. It can be differentiated
    once.
    """
    win_length = win_length or n_fft
    window = torch.hann_window(win_length, dtype=x.dtype, device=x.device)
    half = win_length // 2
    frames = pad(x[:, None], (half, half), mode="reflect")[:, 0].unfold(1, win_length, hop_length)
    return _SquaredModulus.apply(frames * window, n_fft)  # (B, T, F)


class _SquaredModulus(torch.autograd.Function):
    """Compute |rfft(frames, n)|^2 along the last axis, n even."""

    @staticmethod
    def forward(ctx: Any, frames: Tensor, n: int) -> Tensor:
        spec = torch.fft.rfft(frames, n)
        ctx.save_for_backward(spec)
        ctx.length = frames.shape[-1]
        ctx.n = n
        return spec.real.square() + spec.imag.square()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """Return d/dx_m sum_k g_k |S_k|^2 = sum_k 2 g_k Re(S_k e^(2 pi i k m / n)); irfft doubles
        all bins but two."""
        (spec,) = ctx.saved_tensors
        spec = spec * gradient
        spec[..., 0] *= 2
        spec[..., -1] *= 2
        return torch.fft.irfft(spec, ctx.n, norm="forward")[..., : ctx.length], None

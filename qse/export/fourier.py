"""Compute the real Fourier transform of a frame as two small matrix products with twiddle factors
between them.

n_fft = A J, sample n = J a + j, bin k = r + A m (Cooley & Tukey 1965):

    X[k] = sum over j of exp(-2 pi i m j / J) exp(-2 pi i r j / n_fft)
           sum over a of exp(-2 pi i r a / A) x[J a + j].

The samples are real, so the R = A / 2 + 1 rows r = 0 .. A / 2 are sufficient. Place (r, m) holds
bin r + A m, or its mirror image where that is beyond n_fft / 2; some bins have two places. A
spectrum is ordered by places here, not by bins: (B, T, R, 2, J). For 512 points that is 52 thousand
products and 16 KiB of constants, not 263 thousand and 1 MiB.
"""

import math

import torch
from torch import Tensor

from ..nn.state import Stateful, delay
from ..nn.stft import Analysis, Synthesis, window_pair


def factors(n_fft: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return first matrix, twiddle factors and second matrix, float64.

    (2 R, A): rows (r, part) over a, part = real or imaginary. (R, 2, 2 J): the cosine, and the
    sine, that both parts (part, j) are multiplied by. (4 J, 2 J): from these four products of each
    row to its places (part, m).
    """
    a, j, rows = _split(n_fft)
    first = torch.stack(_twiddles(torch.arange(rows), torch.arange(a), a), 1).flatten(0, 1)
    twiddle = torch.stack(_twiddles(torch.arange(rows), torch.arange(j), n_fft), 1).repeat(1, 1, 2)
    re, im = _twiddles(torch.arange(j), torch.arange(j), j)  # J, J, symmetric
    mirrored = torch.where(2 * torch.arange(j) < j, 1.0, -1.0)
    from_re = torch.cat([re, im * mirrored], 1)
    from_im = torch.cat([-im, re * mirrored], 1)
    return first, twiddle, torch.cat([from_re, from_im, from_im, -from_re])


def bins_by_place(n_fft: int) -> Tensor:
    """Return (R, J): the bin in each place."""
    a, j, rows = _split(n_fft)
    k = torch.arange(rows)[:, None] + a * torch.arange(j)
    return torch.minimum(k, n_fft - k)


def _split(n_fft: int) -> tuple[int, int, int]:
    """Return A, J and R, with A about 2 J, so that both matrices are about as large."""
    divisors = [a for a in range(2, n_fft + 1, 2) if n_fft % a == 0]
    a = min(divisors, key=lambda a: abs(a - 2 * n_fft // a))
    return a, n_fft // a, a // 2 + 1


def _twiddles(k: Tensor, n: Tensor, period: int) -> tuple[Tensor, Tensor]:
    """Return (K, N) each, float64: real and imaginary part of exp(-2 pi i k n / period)."""
    angle = (k[:, None] * n % period).double() * (2 * math.pi / period)  # exact
    return angle.cos(), -angle.sin()


class FactoredAnalysis(Stateful):
    """Compute `Analysis` with a spectrum by places: (B, T * hop_length) -> (B, T, R, 2, J).

    The same state.
    """

    window: Tensor
    first: Tensor
    twiddle: Tensor
    second: Tensor

    def __init__(self, analysis: Analysis):
        super().__init__()
        self.n_fft = analysis.n_fft
        self.hop_length = analysis.hop_length
        first, twiddle, second = factors(self.n_fft)
        self.register_buffer(
            "window", window_pair(self.n_fft, self.hop_length, analysis.overlap)[0].float()
        )
        self.register_buffer("first", first.float())
        self.register_buffer("twiddle", twiddle.float())
        self.register_buffer("second", second.float())

    def forward(self, x: Tensor, past: Tensor | None = None) -> tuple[Tensor, Tensor]:
        if x.shape[1] % self.hop_length:
            raise ValueError(
                f"{x.shape[1]} samples are no multiple of the hop of {self.hop_length}"
            )
        if past is None:
            past = x.new_zeros(x.shape[0], self.n_fft - self.hop_length)
        x = torch.cat([past, x], dim=1)
        starts = range(0, x.shape[1] - self.n_fft + 1, self.hop_length)
        # B, T, n_fft
        excerpts = [x[:, start : start + self.n_fft] for start in starts]
        frames = torch.stack(excerpts, 1) * self.window
        y = self.first @ frames.unflatten(2, (self.first.shape[1], -1))  # B, T, 2 R, J
        y = y.flatten(2).unflatten(2, (len(self.twiddle), 1, -1)) * self.twiddle  # B, T, R, 2, 2 J
        y = y.flatten(3) @ self.second  # B, T, R, 2 J
        return y.unflatten(3, (2, -1)), x[:, x.shape[1] - past.shape[1] :]


class FactoredSynthesis(Stateful):
    """Compute `Synthesis` of a spectrum by places, multiplied by a complex number per bin.

    (B, T, R, 2, 2, J), both parts of the spectrum times both of the factor, -> (B, T * hop_length).
    The same state.
    """

    window: Tensor
    first: Tensor
    twiddle: Tensor
    second: Tensor

    def __init__(self, synthesis: Synthesis):
        super().__init__()
        n_fft = synthesis.n_fft
        self.hop_length = synthesis.hop_length
        self.overlap = synthesis.overlap
        self.latency = self.overlap
        window = window_pair(n_fft, self.hop_length, self.overlap)[1]
        first, twiddle, second = factors(n_fft)
        re, im = second.T.chunk(2)  # of the places, to the four products before the twiddles
        weight = torch.full((len(twiddle),), 2 / n_fft, dtype=torch.float64)
        weight[[0, -1]] /= 2  # all bins of these two rows have two places, or are real
        last = -(-len(window) * first.shape[1] // n_fft)  # rows of a that the window reaches
        # both halves of the twiddles add up
        first = first.T[-last:].unflatten(1, (-1, 1, 2)).expand(-1, -1, 2, -1)
        self.register_buffer("window", window.float())
        self.register_buffer("first", first.flatten(1).float())  # a, (r, 2, part)
        self.register_buffer("twiddle", (twiddle * weight[:, None, None]).flatten(1).float())
        self.register_buffer("second", torch.cat([re, im, im, -re]).float())

    def forward(self, products: Tensor, tail: Tensor | None = None) -> tuple[Tensor, Tensor]:
        y = products.flatten(3) @ self.second * self.twiddle  # B, T, R, 4 J
        y = self.first @ y.flatten(2).unflatten(2, (self.first.shape[1], -1))  # B, T, a, J
        y = y.flatten(2)  # the last a J samples
        frames = y[:, :, y.shape[2] - len(self.window) :] * self.window
        first, alone, later = frames.split(
            [self.overlap, self.hop_length - self.overlap, self.overlap], 2
        )
        if tail is None:
            tail = later.new_zeros(later.shape[0], self.overlap)
        before, after = delay(later, tail[:, None], dim=1)
        return torch.cat([first + before, alone], 2).flatten(1), after[:, 0]

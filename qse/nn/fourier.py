"""The real Fourier transform of a frame as two small matrix products instead of a large one.

n_fft = A B, sample n = B a + b, bin k: exp(-2 pi i k n / n_fft) = exp(-2 pi i k a / A) exp(-2 pi i k b / n_fft), and a
bin needs only row k mod A of the sum over a (Cooley & Tukey 1965). The samples are real, so that row A - r is the
conjugate of row r: R = A / 2 + 1 rows serve all bins, at most B of them each. The inverse is the transpose. For 512
points: 35 thousand products and 74 KiB of constants, not 263 thousand and 1 MiB.
"""

import math

import torch
from torch import Tensor

from .state import Stateful, delay
from .stft import Analysis, Synthesis, bin_weights, window_pair


def factors(n_fft: int) -> tuple[Tensor, Tensor, Tensor]:
    """Both products, float64, and where the bins lie in the result of the second one.

    (2 R, A): rows (r, part) over a, part = real or imaginary. (R, 2 B, 2 B): (part, b) in, (part, j) out of each row.
    (2, F): the place (r, part, j) of both parts of every bin, j = 0 .. B - 1.
    """
    a = min(
        (a for a in range(2, n_fft + 1, 2) if n_fft % a == 0),
        key=lambda a: (a + 2) * (n_fft + 2 * (n_fft // a) ** 2),  # products of both
    )
    rows, b = a // 2 + 1, n_fft // a
    first = _turns(torch.arange(rows), torch.arange(a), a).flatten(0, 1)

    k = torch.arange(n_fft // 2 + 1)
    mirrored = k % a > a // 2
    row = torch.where(mirrored, a - k % a, k % a)
    j = torch.where(row % (a // 2) == 0, k // a, k // (a // 2))  # the outer rows have half as many bins
    re, im = _turns(k, torch.arange(b), n_fft).unbind(1)  # F, B
    conjugate = torch.where(mirrored, -1.0, 1.0)[:, None]
    second = torch.zeros(rows, 2, b, 2, b, dtype=torch.float64)
    second[row, 0, :, 0, j], second[row, 1, :, 0, j] = re, -im * conjugate
    second[row, 0, :, 1, j], second[row, 1, :, 1, j] = im, re * conjugate
    place = (row * 2 + torch.arange(2)[:, None]) * b + j
    return first, second.view(rows, 2 * b, 2 * b), place


def _turns(k: Tensor, n: Tensor, period: int) -> Tensor:
    """(K, 2, N), float64: real and imaginary part of exp(-2 pi i k n / period)."""
    angle = (k[:, None] * n % period).double() * (2 * math.pi / period)  # exact
    return torch.stack([angle.cos(), -angle.sin()], 1)


class FactoredAnalysis(Stateful):
    """The same function and state as an `Analysis`."""

    def __init__(self, analysis: Analysis):
        super().__init__()
        self.n_fft, self.hop_length = analysis.n_fft, analysis.hop_length
        first, second, place = factors(self.n_fft)
        self.register_buffer("window", window_pair(self.n_fft, self.hop_length)[0].float())
        self.register_buffer("first", first.float())
        self.register_buffer("second", second.float())
        self.register_buffer("place", place.flatten())

    def forward(self, x: Tensor, past: Tensor | None = None) -> tuple[Tensor, Tensor]:
        if x.shape[1] % self.hop_length:
            raise ValueError(f"{x.shape[1]} samples are no multiple of the hop of {self.hop_length}")
        if past is None:
            past = x.new_zeros(x.shape[0], self.n_fft - self.hop_length)
        x = torch.cat([past, x], dim=1)
        starts = range(0, x.shape[1] - self.n_fft + 1, self.hop_length)
        frames = torch.stack([x[:, start : start + self.n_fft] for start in starts], 1) * self.window  # B, T, n_fft
        y = self.first @ frames.unflatten(2, (self.first.shape[1], -1))  # B, T, 2 R, B
        y = y.flatten(2).unflatten(2, (len(self.second), 1, -1)) @ self.second  # B, T, R, 1, 2 B
        spec = y.flatten(2).index_select(2, self.place)  # B, T, 2 F
        return spec.unflatten(2, (2, -1)).transpose(1, 2), x[:, x.shape[1] - past.shape[1] :]


class FactoredSynthesis(Stateful):
    """The same function and state as a `Synthesis`."""

    def __init__(self, synthesis: Synthesis):
        super().__init__()
        n_fft, self.hop_length = synthesis.n_fft, synthesis.hop_length
        first, second, place = factors(n_fft)
        second = second.mT.contiguous()  # R, (part, j), (part, b)
        second.view(-1, second.shape[2])[place] *= bin_weights(n_fft)[:, None]
        spare = torch.zeros(second.shape[0] * second.shape[1], dtype=torch.long)  # places without a bin weigh nothing
        spare[place.flatten()] = torch.arange(place.numel())
        late = -(-2 * self.hop_length * first.shape[1] // n_fft)  # rows of a that the window reaches
        self.register_buffer("window", window_pair(n_fft, self.hop_length)[1].float())
        self.register_buffer("first", first.mT[-late:].float().contiguous())  # a, 2 R
        self.register_buffer("second", second.float())
        self.register_buffer("place", spare)

    def forward(self, spec: Tensor, tail: Tensor | None = None) -> tuple[Tensor, Tensor]:
        x = spec.transpose(1, 2).flatten(2).index_select(2, self.place)  # B, T, 2 R B
        x = (x.unflatten(2, (len(self.second), 1, -1)) @ self.second).flatten(2)
        x = (self.first @ x.unflatten(2, (self.first.shape[1], -1))).flatten(2)  # B, T, the last A' B samples
        frames = x[:, :, x.shape[2] - len(self.window) :] * self.window
        now, later = frames.split(self.hop_length, 2)
        if tail is None:
            tail = later.new_zeros(later.shape[0], self.hop_length)
        before, after = delay(later, tail[:, None], dim=1)
        return (now + before).flatten(1), after[:, 0]

"""Follow the level of the input, so that very soft and very loud signals reach the network at the
levels that it was trained at."""

from math import ceil, log

import torch
from torch import Tensor
from torch.nn import functional as F

from .state import Stateful

FLOOR = -100.0  # dBFS: softer peaks count as silence
LOWEST = -50.0  # dBFS: softer signals are raised to this level,
LIFT = 20.0  # by so many dB at most
HIGHEST = 0.0  # dBFS: louder signals are lowered, to a level below this one:
STEEPNESS = 1.25  # dB per dB above it
LASTING = 0.1  # seconds that a sound must last to be remembered as the level: a click is not
MARGIN = 6.0  # dB from the softest hop of such a sound up to its loudest, about
FALL = 0.25  # dB per second by which the remembered level falls: less than 20 dB in a minute
PEAK_FALL = 1.0  # dB per second by which the remembered peak falls: steady above HIGHEST
NEPER = log(10) / 20  # of a decibel


class InputLevel(Stateful):
    """Compute a gain for the features of every frame: (B, T * hop_length) samples -> (B, T).

    The gain is exactly 1 while the peaks lie between LOWEST and HIGHEST. It falls at once with a
    louder frame, and rises as slowly as the remembered levels fall, so that a pause between two
    sentences is not raised. It depends on past and present samples only.

    State: (B, hops + 1), in dB above FLOOR: the peaks of the last hops, then level and peak.
    """

    def __init__(self, sample_rate: int, n_fft: int, hop_length: int):
        super().__init__()
        self.sample_rate = sample_rate
        self.n_fft = n_fft
        self.hop_length = hop_length
        self.window = ceil(n_fft / hop_length)  # hops that a frame covers
        self.lasting = max(self.window, round(LASTING * sample_rate / hop_length))

    @torch.no_grad()
    def forward(self, audio: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        if state is None:
            state = audio.new_zeros(len(audio), self.lasting + 1)
        past, level, peak = state.split([self.lasting - 1, 1, 1], 1)
        hops = torch.cat([past, self._peaks(audio)], 1)
        frames = F.max_pool1d(hops[:, self.lasting - self.window :], self.window, 1)
        lasting = -F.max_pool1d(-hops, self.lasting, 1)
        levels = self._falling(lasting, level, FALL)
        peaks = self._falling(frames, peak, PEAK_FALL)

        low = LOWEST - FLOOR - torch.maximum(frames, levels + MARGIN)
        high = F.relu(peaks - (HIGHEST - FLOOR))
        gain = F.hardtanh(low, 0.0, LIFT) - STEEPNESS * high  # dB
        past = hops[:, hops.shape[1] - self.lasting + 1 :]
        return torch.exp(NEPER * gain), torch.cat([past, levels[:, -1:], peaks[:, -1:]], 1)

    def _peaks(self, audio: Tensor) -> Tensor:
        """Return the peak of every hop (B, T) in dB above FLOOR."""
        peak = audio.unflatten(1, (-1, self.hop_length)).abs().amax(2)
        return torch.log(peak.clamp_min(10 ** (FLOOR / 20))) / NEPER - FLOOR

    def _falling(self, levels: Tensor, before: Tensor, fall: float) -> Tensor:
        """Return the largest of the levels until each hop, `before` (B, 1) the first one and of
        `levels` (B, T), each falling by `fall` dB per second."""
        step = fall * self.hop_length / self.sample_rate
        fallen = step * torch.arange(levels.shape[1], dtype=levels.dtype, device=levels.device)
        return torch.maximum((levels + fallen).cummax(1).values, before - step) - fallen

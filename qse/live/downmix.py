"""Mix channels to one, without losing the sound where they cancel or where one of them carries
none.

The mean of all channels is right for channels that hear the same or independent sounds. Two
channels in antiphase cancel in it, and a dead one lowers it by 6 dB. So the mean is taken over the
channels that carry sound, and where even that cancels, the loudest channel is taken alone. Changes
are cross-faded over one block.
"""

import math

import numpy as np

SHORT = 0.1  # seconds over which the powers are averaged that are compared
# seconds in which the largest power of a channel decays to 1 / e, so that a pause is no dead
# channel
LONG = 5.0
# share of the power of the loudest channel (-30 dB) below which a channel counts as dead
DEAD = 1e-3
# power of the mean, where independent channels have 1 to 2
CANCELS = 0.8  # below which one channel is heard alone
HOLDS = 2.5  # up to which it stays so
LOUDER = 4.0  # by how much more power another channel takes over the solo


class Downmix:
    """Mix blocks (samples, channels) to (samples,).

    `reason`: why not all channels are mixed; empty if they are.
    """

    def __init__(self, sample_rate: int, channel: int | None = None):
        """`channel`: the only channel to take, counted from 1; None mixes."""
        self._rate = sample_rate
        self._channel = channel
        self._short = np.zeros(0)  # power per channel: mean over SHORT
        self._peak = np.zeros(0)  # power per channel: largest over LONG
        self._mean_power = 0.0  # of the mean of the channels that carry sound, over SHORT
        self._weights = np.zeros(0, np.float32)
        self._solo: int | None = None
        self.reason = ""

    def process(self, block: np.ndarray) -> np.ndarray:
        """Return the mix (samples,) of a block (samples, channels)."""
        channels = block.shape[1]
        if channels == 1:
            self.reason = ""
            return block[:, 0]
        if self._channel is not None:
            self.reason = f"only {self._channel} of {channels}, as chosen"
            return block[:, self._channel - 1]
        if len(self._weights) != channels:
            self._begin(channels)
        if not len(block):
            return np.zeros(0, np.float32)
        self._measure(block)
        return self._mixed(block, self._chosen())

    def _begin(self, channels: int) -> None:
        self._short = np.zeros(channels)
        self._peak = np.zeros(channels)
        self._weights = np.full(channels, 1 / channels, np.float32)
        self._mean_power = 0.0
        self._solo = None

    def _measure(self, block: np.ndarray) -> None:
        powers = np.mean(np.square(block, dtype=np.float64), axis=0)
        self._peak = np.maximum(powers, self._peak * math.exp(-len(block) / (LONG * self._rate)))
        share = min(1.0, len(block) / (SHORT * self._rate))
        self._short = self._short + share * (powers - self._short)
        mean = block[:, self._alive].mean(axis=1, dtype=np.float64)
        self._mean_power += share * (float(np.mean(np.square(mean))) - self._mean_power)

    @property
    def _alive(self) -> np.ndarray:
        """Which channels carry sound: those near the loudest one, now or in the last seconds."""
        near = self._short >= DEAD * self._short.max()
        return near | (self._peak >= DEAD * self._peak.max())

    def _chosen(self) -> np.ndarray:
        """Return the weights of the channels, and note the reason."""
        alive = self._alive
        weights = (alive / alive.sum()).astype(np.float32)
        dead = np.flatnonzero(~alive) + 1
        listed = " and ".join(map(str, dead))
        self.reason = f"without {listed}, where nothing is heard" if listed else ""
        self._choose_solo(int(alive.sum()))
        if self._solo is not None:
            weights = np.eye(len(alive), dtype=np.float32)[self._solo]
            self.reason = f"only {self._solo + 1}: mixed, they would cancel"
        return weights

    def _choose_solo(self, alive: int) -> None:
        """Note the channel to be heard alone: the loudest one, while the mean of the `alive`
        channels cancels."""
        loudest = int(np.argmax(self._short))
        power = float(self._short[loudest])
        relative = self._mean_power * alive**2 / power if power else HOLDS
        if alive == 1 or relative > HOLDS:
            self._solo = None
            return
        starts = self._solo is None and relative < CANCELS
        if starts or (self._solo is not None and power > LOUDER * self._short[self._solo]):
            self._solo = loudest

    def _mixed(self, block: np.ndarray, weights: np.ndarray) -> np.ndarray:
        before = self._weights
        self._weights = weights
        if np.array_equal(before, weights):
            return block.mean(axis=1) if (weights == 1 / len(weights)).all() else block @ weights
        way = np.linspace(0, 1, len(block) + 1, dtype=np.float32)[1:, None]
        return np.einsum("sc,sc->s", block, before + way * (weights - before))

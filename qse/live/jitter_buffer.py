"""The jitter buffer before an output device: its callback takes samples from it and is never kept
waiting.

target: samples that should be left after the callback took its block, as a reserve against delayed
blocks. An underrun makes it larger. After CALM seconds without one it returns to its start value,
as far as the reserve was not needed meanwhile: at once in pauses of the sound, whose samples are
left out with a cross-fade; else slowly, as the converter before the buffer delivers `slide` fewer
samples. On an underrun the last sample is held to the end of the block and fades to zero within
FADE seconds; silence follows until the target is reached again, and the sound fades in within FADE
seconds. The output never jumps.
"""

import math

import numpy as np

from .pause import Pause
from .ring_buffer import RingBuffer

FADE = 0.005
SMOOTH = 4.0  # seconds over which `excess` is averaged
# seconds, plus two blocks, beyond the target that may wait on average before the oldest are skipped
LOOSE = 0.05
WIDEST = 0.25  # seconds up to which the target grows by itself
CALM = 10.0  # seconds without an underrun after which the target shrinks
RESERVE = 0.25  # share of the least target that was never needed in that time
SLIDE = 2e-3  # seconds per second by which the target shrinks while sound is heard: 3.5 cents
PIECE = 0.02  # seconds of a pause that are left out at once


class JitterBuffer:
    """One channel of sound, written by one thread and read by another.

    `underruns`: how often it was empty. `skips`: how often so much had piled up that some was left
    out. `least`: the target at the start. `is_too_small`: it was empty at the largest target, less
    than CALM seconds ago. `pause`: whether what is played pauses. `excess`: by how many samples it
    holds more than the target, averaged over some seconds.
    """

    def __init__(self, sample_rate: int, target: float, most: int = 0):
        """`target` in seconds; it grows by half with every underrun, up to WIDEST. `most`: samples
        of the largest block that is read."""
        self.sample_rate = sample_rate
        self.ring = RingBuffer(int((2 + target) * sample_rate) + 2 * most, 1)
        self.target = target * sample_rate
        self.least = self.target
        self.pause = Pause(sample_rate)
        self.attentive = False  # watch for pauses although the target is the least one
        self._goal = self.target
        self._calm = 0  # samples played since the last underrun or shrinking
        self._low = math.inf  # fewest samples that were left in that time
        self.underruns = 0
        self.is_too_small = False
        self.skips = 0
        self.excess = 0.0
        self.playing = False
        self.draining = False
        self._last = 0.0  # the sample that the output holds while nothing plays
        self._ramp = np.arange(1, round(FADE * sample_rate) + 1, dtype=np.float32)[:, None]
        self._other = np.zeros_like(self._ramp)
        self._ahead = np.zeros((round(PIECE * sample_rate), 1), np.float32)

    @property
    def slide(self) -> float:
        """By which fraction fewer samples are wanted, as the target shrinks."""
        return SLIDE if self.target > self._goal else 0.0

    def read(self, out: np.ndarray) -> None:
        """Fill `out` (samples, 1), one sample or more."""
        last = self._last
        begins = not self.playing
        if begins and not self._begin(len(out)):
            out[:] = 0
            self._last = 0.0
            self._fade_from(last, out)
            return
        got = self.ring.read(out)
        if begins:
            self._fade_from(last, out[:got])
        self._last = float(out[got - 1, 0]) if got else last
        if got < len(out):
            self._underrun(out[got:])
        elif self.excess > LOOSE * self.sample_rate + 2 * len(out) and self.ring.waiting >= len(
            self._ramp
        ):
            self._skip(out, self.ring.waiting - int(self.target))
            self.excess = 0.0
            self.skips += 1
        elif self.target > self.least or self.attentive or self.is_too_small:
            self._relax(out)
        self._measure(len(out) / self.sample_rate)

    def clear(self) -> None:
        """Drop what waits, because the device starts again and the samples are old."""
        self.ring.skip(self.ring.waiting)
        self.playing = False

    def _begin(self, wanted: int) -> bool:
        """Start to play if there is enough for one block and the target; drop older samples beyond
        that."""
        surplus = self.ring.waiting - wanted - int(self.target)
        self.playing = surplus >= 0 or (self.draining and self.ring.waiting > 0)
        if self.playing:
            self.ring.skip(max(0, surplus))
            self.excess = 0.0
        return self.playing

    def _fade_from(self, last: float, out: np.ndarray) -> None:
        """Cross-fade from the constant `last` to `out`, in place."""
        fade = min(len(out), len(self._ramp))
        out[:fade] = last + self._ramp[:fade] / fade * (out[:fade] - last)

    def _underrun(self, rest: np.ndarray) -> None:
        rest[:] = self._last
        self.playing = False
        if not self.draining:
            self.underruns += 1
            self.is_too_small = self.target >= WIDEST * self.sample_rate
            self.target = max(self.target, min(1.5 * self.target + 1, WIDEST * self.sample_rate))
            self._goal = self.target
            self._restart()

    def _restart(self) -> None:
        self._calm = 0
        self._low = math.inf

    def _relax(self, out: np.ndarray) -> None:
        """Let the target return to the least one after CALM seconds without an underrun."""
        self.pause.add(out)
        self._low = min(self._low, self.ring.waiting)
        self._calm += len(out)
        if self._calm >= CALM * self.sample_rate:
            self.is_too_small = False
            unused = max(0.0, self._low - RESERVE * self.least)
            self._goal = max(self.least, self.target - unused)
            self._restart()
        if self.target <= self._goal:
            return

        self.target = max(self._goal, self.target - SLIDE * len(out))
        count = min(int(self.target - self._goal), len(self._ahead))
        fade = min(len(out), len(self._ramp))
        ahead = self._ahead[:count]
        if fade <= count == self.ring.peek(ahead) and self.pause.holds(ahead):
            self._skip(out, count)
            self.target -= count
            self._low -= count

    def _skip(self, out: np.ndarray, count: int) -> None:
        """Leave out the next `count` samples; cross-fade the end of `out` to the last of them."""
        fade = min(len(out), len(self._ramp))
        end = out[-fade:]
        other = self._other[:fade]
        self.ring.skip(max(0, count - fade))
        self.ring.read(other)
        end += self._ramp[:fade] / fade * (other - end)
        self._last = float(out[-1, 0])

    def _measure(self, seconds: float) -> None:
        self.excess += min(1.0, seconds / SMOOTH) * (self.ring.waiting - self.target - self.excess)

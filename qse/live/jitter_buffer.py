"""The last ring before the loudspeaker: what its callback pulls, come what may.

cushion: the samples that should be left after a pull, in hand against blocks that come late.
A dropout sounds like this: the last sample is held to the end of the pull, then goes to zero within FADE seconds, and
silence follows until the cushion is there again; the sound returns within FADE seconds too. Nothing ever jumps.
"""

import numpy as np

from .ring_buffer import RingBuffer

FADE = 0.005
SMOOTH = 4.0  # seconds over which `excess` is averaged
LOOSE = 0.05  # seconds and two pulls beyond the cushion that may wait, on average, before the oldest are skipped
WIDEST = 0.15  # seconds up to which the cushion grows by itself


class JitterBuffer:
    """One channel of sound, written by one thread and pulled by another that is never kept waiting.

    `late` counts how often the sound ran out, `skipped` how often so much had piled up that some was left out;
    `excess` is by how many samples the cushion is thicker than it should be, on average over some seconds.
    """

    def __init__(self, sample_rate: int, cushion: float, most: int = 0):
        """`cushion` in seconds; it grows by half with every dropout, up to WIDEST, and stays so.

        most: samples of the largest pull.
        """
        self.sample_rate, self.ring = sample_rate, RingBuffer(int((2 + cushion) * sample_rate) + 2 * most, 1)
        self.cushion = cushion * sample_rate
        self.late = self.skipped = 0
        self.excess, self.playing, self.closing = 0.0, False, False
        self._held = 0.0  # the sample that the loudspeaker rests on while nothing plays
        self._up = np.arange(1, round(FADE * sample_rate) + 1, dtype=np.float32)[:, None]
        self._other = np.zeros_like(self._up)

    def pull(self, out: np.ndarray) -> None:
        """Fill `out` (samples, 1), one sample or more."""
        held, begins = self._held, not self.playing
        if begins and not self._begin(len(out)):
            out[:] = 0
            self._held = 0.0
            self._blend(out, held)
            return
        got = self.ring.read(out)
        if begins:
            self._blend(out[:got], held)
        self._held = float(out[got - 1, 0]) if got else held
        if got < len(out):
            self._starve(out[got:])
        elif self.excess > LOOSE * self.sample_rate + 2 * len(out) and self.ring.waiting >= len(self._up):
            self._hurry(out)
        self._watch(len(out) / self.sample_rate)

    def empty(self) -> None:
        """Forget what waits: the loudspeaker begins anew, and what is there is old."""
        self.ring.skip(self.ring.waiting)
        self.playing = False

    def _begin(self, wanted: int) -> bool:
        """Play, if there is enough for one pull and the cushion; what waits beyond that is old and goes."""
        spare = self.ring.waiting - wanted - int(self.cushion)
        self.playing = spare >= 0 or (self.closing and self.ring.waiting > 0)
        if self.playing:
            self.ring.skip(max(0, spare))
            self.excess = 0.0
        return self.playing

    def _blend(self, out: np.ndarray, held: float) -> None:
        """Lead from the sample `held` into `out`."""
        fade = min(len(out), len(self._up))
        out[:fade] = held + self._up[:fade] / fade * (out[:fade] - held)

    def _starve(self, rest: np.ndarray) -> None:
        rest[:] = self._held
        self.playing = False
        if not self.closing:
            self.late += 1
            self.cushion = max(self.cushion, min(1.5 * self.cushion + 1, WIDEST * self.sample_rate))

    def _hurry(self, out: np.ndarray) -> None:
        """Go on where only the cushion is left, and let the end of `out` pass over into what comes before that."""
        fade = min(len(out), len(self._up))
        end, other = out[-fade:], self._other[:fade]
        self.ring.skip(max(0, self.ring.waiting - int(self.cushion) - fade))
        self.ring.read(other)
        end += self._up[:fade] / fade * (other - end)
        self._held, self.excess = float(out[-1, 0]), 0.0
        self.skipped += 1

    def _watch(self, seconds: float) -> None:
        self.excess += min(1.0, seconds / SMOOTH) * (self.ring.waiting - self.cushion - self.excess)

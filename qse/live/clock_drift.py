"""Compensate the drift between the clocks of two sound cards: the controller of a converter's
ratio.

The clocks of two sound cards differ by up to about 200 ppm: one sample every 100 ms. Without
compensation the buffer between them runs empty or overflows. So the ratio of the converter
(`audio/converter.py`) slowly follows the fill level of that buffer.

ClockDrift: a proportional-integral controller with both poles at FAST radians per second at first,
then ever slower down to SLOW: the clocks are stable, but the fill level also varies for other
reasons.
"""

FAST = 0.02  # radians per second, at first
SLOW = 0.004  # radians per second, at last
LEARNING = 200.0  # seconds after which the speed has halved
LIMIT = 2e-3  # 3.5 cents, which is inaudible


class ClockDrift:
    """Control `stretch` by the fill level of the buffer at the output.

    `learned`: estimated fraction by which the output's clock runs faster than the input's.
    """

    def __init__(self) -> None:
        self.stretch = 0.0
        self.learned = 0.0
        self._age = 0.0

    def update(self, excess: float, elapsed: float) -> float:
        """Return the new stretch. `excess`: seconds of sound above the target; `elapsed`: seconds
        since last call."""
        self._age += elapsed
        omega = max(SLOW, FAST / (1 + self._age / LEARNING))
        self.learned = _clip(self.learned - omega**2 * excess * elapsed)
        self.stretch = _clip(self.learned - 2 * omega * excess)
        return self.stretch


def _clip(stretch: float) -> float:
    return min(LIMIT, max(-LIMIT, stretch))

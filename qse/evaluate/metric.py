"""Describe a metric: its heading in tables, its function, and what the function needs."""

from collections.abc import Callable
from dataclasses import dataclass

from .signals import SAMPLE_RATE


@dataclass(frozen=True)
class Metric:
    """A column of a table: heading, function, digits, and what the function needs.

    function: returns a number, or a dict of several metrics that come from one pass over the audio.
    The clean recording is never silent.
    full_band: computed at the rate of the signals; else at 16 kHz, or 8 kHz for those below 16 kHz.
    least_rate: in Hz, of the signals. may_lack: NaN means that an utterance has no value; it is
    left out. on_request: not part of "all". package: that the function imports, of an extra.
    """

    title: str
    function: Callable[..., float | dict[str, float]]
    digits: int = 2
    needs_clean: bool = True
    needs_noisy: bool = False
    full_band: bool = False
    least_rate: int = SAMPLE_RATE
    may_lack: bool = False
    on_request: bool = False
    package: str = ""

    @property
    def roles(self) -> list[str]:
        """Return the roles of the signals that the function takes."""
        roles = ["enhanced"]
        if self.needs_clean:
            roles.append("clean")
        if self.needs_noisy:
            roles.append("noisy")
        return roles

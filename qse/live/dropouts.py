"""Count audible interruptions of a session by their reasons."""

from collections import Counter
from collections.abc import Sequence
from time import monotonic

from .protocols import AudioOutput, LiveInput

SETTLING = 2.0  # seconds after a pause of the process in which dropouts are not counted


class Dropouts:
    """The interruptions of a source and its outputs, without those that follow from a pause of the
    process."""

    def __init__(self, source: LiveInput, speakers: Sequence[AudioOutput]):
        self._source = source
        self._speakers = speakers
        self._settled = 0.0  # until when they are excused
        self._counted: Counter[str] = Counter()
        self._excused: Counter[str] = Counter()

    def excuse(self) -> None:
        """Do not count those of the next SETTLING seconds: the process was stopped."""
        self._settled = monotonic() + SETTLING

    def update(self) -> None:
        """Keep the count up to date around a pause; call this several times a second."""
        counts = self._counts()
        if monotonic() < self._settled:
            self._excused = counts - self._counted
        else:
            self._counted = counts - self._excused

    @property
    def reasons(self) -> dict[str, int]:
        """Return how many there were by their reasons, those that did not happen left out."""
        return dict(self._counts() - self._excused)

    def _counts(self) -> "Counter[str]":
        counts = Counter({self._source.complaint: self._source.dropouts})
        for speaker in self._speakers:
            counts["buffer underrun"] += speaker.underruns
            counts["buffer overrun"] += speaker.skips
            counts["sound card underrun"] += speaker.starved
        return counts

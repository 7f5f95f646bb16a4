"""Choose between the wide-band and the full-band graph of a model."""

from pathlib import Path
from threading import Lock
from typing import Literal

from ..errors import QseError
from .enrolment import NEAR, Talker, voice_of
from .voice import Voice
from .zoo import WIDE_BAND, Model, find, load

Band = Literal["wide", "full"]
FULL_BAND = 48000  # Hz


class BandModels:
    """The graphs of one model, each loaded when it is first needed; `at` may be called from any
    number of threads."""

    def __init__(
        self,
        model: str | Path,
        band: Band | None = None,
        threads: int = 1,
        flush_to_zero: bool = False,
        fast: bool = False,
        talker: Talker | None = None,
    ):
        """`model`, `threads`, `flush_to_zero`, `fast` and `talker` as in `load`. `band`: the graph
        for all audio; None: by sample rate.

        The graph for WIDE_BAND, or the one of `band`, is loaded at once. Raises QseError as `load`
        does, and where "full" is asked of a model that has no full-band graph.
        """
        self._model = model
        self._band = band
        self._threads = threads
        self._flush = flush_to_zero
        self.fast = fast
        self.talker: Voice | Literal["near"] | None = None
        if talker is not None:  # who is enrolled once
            self.talker = voice_of(talker, find(model).parent) or NEAR
        self._loaded: dict[Path, Model] = {}
        self._lock = Lock()
        first = self.at(WIDE_BAND)
        if band == "full" and first.sample_rate <= WIDE_BAND:
            raise QseError(
                f"{first.name} has no full-band graph: leave band=full out, or choose another model"
            )

    @property
    def graphs(self) -> list[Path]:
        """Return the files that `at` may load."""
        rates = {"wide": (WIDE_BAND,), "full": (FULL_BAND,), None: (WIDE_BAND, FULL_BAND)}[
            self._band
        ]
        return list(dict.fromkeys(find(self._model, rate) for rate in rates))

    def at(self, sample_rate: float) -> Model:
        """Return the model for audio at `sample_rate` in Hz."""
        rate = {"wide": WIDE_BAND, "full": FULL_BAND, None: sample_rate}[self._band]
        path = find(self._model, rate)
        with self._lock:
            if path not in self._loaded:
                self._loaded[path] = load(
                    self._model, self._threads, self._flush, rate, self.fast, self.talker
                )
            return self._loaded[path]

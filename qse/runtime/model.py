"""Define the interface of a loaded model, which Engine (streaming) and OfflineModel (complete recordings) fulfil."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from .engine import Engine


class Channel(Protocol):
    """The processing of one channel by a model, with its state."""

    @property
    def latency(self) -> int:
        """Return the samples by which the output lags the input."""

    def process(self, block: np.ndarray) -> np.ndarray:
        """Take the next samples (samples,); return the enhanced samples that are ready, (0 or more,)."""

    def finish(self) -> np.ndarray:
        """Return the samples that are still inside."""


class Model(Protocol):
    """A loaded model, as `load` returns it. `streams`: it works hop by hop; if not, it needs complete recordings and
    much memory. `options`: with which it was loaded.

    `folder`: of a model that was loaded by name or folder; None where it was by the path of a
    graph.
    `sister`: the other graph of that folder, once it was needed.
    """

    path: Path
    name: str
    version: str
    sample_rate: int
    metadata: dict[str, str]
    streams: bool
    options: dict[str, Any]
    folder: Path | None
    sister: "Model | None"

    def open_channel(self) -> Channel:
        """Return a fresh channel, for one signal at `sample_rate`."""

    def as_engine(self) -> "Engine":
        """Return the model itself if it streams. Raises QseError for one that needs complete recordings."""

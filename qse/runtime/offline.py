"""Run offline models without PyTorch: a graph from waveform to waveform, by ONNX Runtime.

The graph maps `audio` (1, samples) to `enhanced` (1, samples) for any number of samples; STFT and
inverse STFT are part of it. Its metadata hold sample_rate and hop_length. Long audio is processed
in segments, so that memory does not grow with it.
"""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import QseError
from .graph_output import check_outputs
from .onnx_session import described, is_installed, open_session
from .watchdog import SEGMENT, Watchdog

METADATA = ("name", "version", "sample_rate", "hop_length")


class OfflineModel:
    """A loaded offline model, with the attributes of Engine except `latency`."""

    streams = False
    folder: Path | None = None

    def __init__(self, path: str | Path, threads: int = 1):
        """Load `path`, an .onnx file.

        Raises QseError if it is missing, damaged, or not an exported offline model.
        """
        self.path = Path(path)
        self.options: dict[str, Any] = {"threads": threads}
        self._session = open_session(self.path, threads, reuse=True)
        self.metadata = dict(self._session.get_modelmeta().custom_metadata_map)
        inputs = [node.name for node in self._session.get_inputs()]
        if inputs == ["spec"]:
            reason = "was exported with its STFT outside the graph"
            raise QseError(f"{self.path} {reason}: export it again, `qse export`")
        if not described(self.metadata, METADATA) or inputs != ["audio"]:
            raise QseError(f"{self.path} is an ONNX file, but not a model written by `qse export`")
        self.name = self.metadata["name"]
        self.version = self.metadata["version"]
        self.sample_rate = int(self.metadata["sample_rate"])
        self.hop_length = int(self.metadata["hop_length"])

    def __reduce__(self) -> tuple:
        """Pickle the path and the options: another process loads the file for itself."""
        return OfflineModel, (self.path, *self.options.values()), {"folder": self.folder}

    def open_channel(self) -> "Segments":
        """Return a channel for one signal at `sample_rate`."""
        return Segments(self)

    def enhance(self, noisy: np.ndarray) -> np.ndarray:
        """Enhance (samples,) float32 at `sample_rate` all at once; memory grows with the length.

        Raises QseError where the graph fails, or returns another shape.
        """
        own = is_installed(self.path)
        audio = noisy[None]
        with nullcontext() if own else Watchdog(self.path, SEGMENT) as options:
            outputs = self._session.run(["enhanced"], {"audio": audio}, options)
        check_outputs(outputs, [audio], self.path)
        return outputs[0][0]


class Segments:
    """Run one channel through an offline model in segments that overlap and are cross-faded.

    A signal no longer than one segment gives exactly what `OfflineModel.enhance` gives.
    """

    latency = 0  # samples by which the output lags the input: segments are returned aligned

    def __init__(self, model: OfflineModel, frames: int = 400, overlap: int = 50):
        """Process segments of `frames` hops, of which `overlap` are shared with the next segment.

        The memory of attention grows with the square of the frames. Raises ValueError unless
        0 < 2 * overlap <= frames.
        """
        if not 0 < 2 * overlap <= frames:
            raise ValueError(
                f"an overlap of {overlap} frames does not go with segments of {frames}"
            )
        self._model = model
        self._long = frames * model.hop_length
        shared = overlap * model.hop_length
        self._rise = (np.arange(shared, dtype=np.float32) + 0.5) / shared
        self._waiting = np.zeros(0, np.float32)
        self._tail: np.ndarray | None = None

    def process(self, block: np.ndarray) -> np.ndarray:
        """Take (samples,) float32; return the enhanced samples that are ready, (0 or more,)."""
        self._waiting = np.concatenate([self._waiting, block])
        ready = [self._waiting[:0]]
        shared = len(self._rise)
        while len(self._waiting) > self._long:
            enhanced = self._faded(self._waiting[: self._long])
            ready.append(enhanced[:-shared])
            self._tail = enhanced[-shared:]
            self._waiting = self._waiting[self._long - shared :]
        return np.concatenate(ready)

    def finish(self) -> np.ndarray:
        """Return the remaining samples."""
        return self._faded(self._waiting) if len(self._waiting) else self._waiting

    def _faded(self, segment: np.ndarray) -> np.ndarray:
        enhanced = self._model.enhance(segment)
        if self._tail is not None:
            shared = len(self._rise)
            enhanced[:shared] = self._rise * enhanced[:shared] + (1 - self._rise) * self._tail
        return enhanced

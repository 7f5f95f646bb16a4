"""Offline models without PyTorch: an exported core, ONNX Runtime for it, NumPy for the STFT around it.

The graph maps `spec` (1, 2, T, F), real and imaginary part, T free, to `enhanced` of the same shape; its metadata hold
sample_rate, n_fft and hop_length. The STFT is that of `qse.networks.offline`: centred, zeros at both ends, Hann window.

Long audio goes through in segments, so that memory does not grow with it.
"""

from pathlib import Path

import numpy as np

from ..errors import QseError
from .engine import Engine, described, open_session

METADATA = ("name", "version", "sample_rate", "n_fft", "hop_length")


class OfflineModel:
    """A loaded offline model. Attributes: name, version, sample_rate in Hz, n_fft, hop_length, metadata (strings)."""

    def __init__(self, path: str | Path, threads: int = 1):
        """Load `path`, an .onnx file. Raises QseError if it is missing, damaged, or not an exported offline model."""
        self.path = Path(path)
        self._loaded = self.path, threads
        self._session = open_session(*self._loaded, reuse=True)
        self.metadata = dict(self._session.get_modelmeta().custom_metadata_map)
        if not described(self.metadata, METADATA) or [node.name for node in self._session.get_inputs()] != ["spec"]:
            raise QseError(f"{self.path} is an ONNX file, but not a model written by `qse export`")
        self.name, self.version = self.metadata["name"], self.metadata["version"]
        self.sample_rate, self.n_fft, self.hop_length = (int(self.metadata[key]) for key in METADATA[2:])
        self._window = np.hanning(self.n_fft + 1)[:-1].astype(np.float32)

    def __reduce__(self) -> tuple:
        return OfflineModel, self._loaded  # another process loads the file for itself

    def enhance(self, noisy: np.ndarray) -> np.ndarray:
        """(samples,) float32 at `sample_rate` -> enhanced (samples,), all at once; memory grows with the length."""
        (enhanced,) = self._session.run(["enhanced"], {"spec": self.analysis(noisy)})
        return self.synthesis(enhanced, len(noisy))

    def analysis(self, audio: np.ndarray) -> np.ndarray:
        """(samples,) -> (1, 2, T, F) float32, T = 1 + samples // hop_length."""
        padded = np.pad(audio, self.n_fft // 2)
        frames = np.lib.stride_tricks.sliding_window_view(padded, self.n_fft)[:: self.hop_length]
        spec = np.fft.rfft(frames * self._window)
        return np.stack([spec.real, spec.imag])[None].astype(np.float32)

    def synthesis(self, spec: np.ndarray, samples: int) -> np.ndarray:
        """The inverse of `analysis`: overlap-add, divided by the sum of the squared windows."""
        frames = np.fft.irfft(spec[0, 0] + 1j * spec[0, 1], self.n_fft) * self._window
        weight = np.broadcast_to(self._window**2, frames.shape)
        audio = self._overlap_add(frames) / self._overlap_add(weight).clip(1e-11)
        return audio[self.n_fft // 2 :][:samples].astype(np.float32)

    def _overlap_add(self, frames: np.ndarray) -> np.ndarray:
        """(T, n_fft) -> (samples,); n_fft is a multiple of the hop."""
        hops = frames.reshape(len(frames), -1, self.hop_length)  # T, hops of a frame, hop
        total = np.zeros((len(frames) + hops.shape[1] - 1, self.hop_length))
        for n in range(hops.shape[1]):
            total[n : n + len(frames)] += hops[:, n]
        return total.ravel()


Model = Engine | OfflineModel


class Segments:
    """One channel on its way through an offline model: in segments that overlap and fade into one another.

    A signal no longer than one segment gives exactly what `OfflineModel.enhance` gives.
    """

    latency = 0  # samples by which what comes out lags what went in, once it is all there

    def __init__(self, model: OfflineModel, frames: int = 400, overlap: int = 50):
        """Segments of `frames` hops, the last `overlap` of which fade into the next.

        Attention takes memory by the square of the frames. ValueError unless 0 < 2 * overlap <= frames.
        """
        if not 0 < 2 * overlap <= frames:
            raise ValueError(f"an overlap of {overlap} frames does not go with segments of {frames}")
        self._model = model
        self._long, shared = frames * model.hop_length, overlap * model.hop_length
        self._rise = (np.arange(shared, dtype=np.float32) + 0.5) / shared
        self._waiting = np.zeros(0, np.float32)
        self._tail: np.ndarray | None = None

    def process(self, block: np.ndarray) -> np.ndarray:
        """`block` (samples,) float32 -> the enhanced samples that are ready, (0 or more,)."""
        self._waiting = np.concatenate([self._waiting, block])
        ready, shared = [self._waiting[:0]], len(self._rise)
        while len(self._waiting) > self._long:
            enhanced = self._faded(self._waiting[: self._long])
            self._tail, self._waiting = enhanced[-shared:], self._waiting[self._long - shared :]
            ready.append(enhanced[:-shared])
        return np.concatenate(ready)

    def finish(self) -> np.ndarray:
        """The rest."""
        return self._faded(self._waiting) if len(self._waiting) else self._waiting

    def _faded(self, segment: np.ndarray) -> np.ndarray:
        enhanced = self._model.enhance(segment)
        if self._tail is not None:
            shared = len(self._rise)
            enhanced[:shared] = self._rise * enhanced[:shared] + (1 - self._rise) * self._tail
        return enhanced

"""Offline models without PyTorch: an exported core, ONNX Runtime for it, NumPy for the STFT around it.

The graph maps `spec` (1, 2, T, F), real and imaginary part, T free, to `enhanced` of the same shape; its metadata hold
sample_rate, n_fft and hop_length. The STFT is that of `qse.networks.offline`: centred, zeros at both ends, Hann window.

Long audio goes through in segments that overlap and are faded into each other, so that memory does not grow with it.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from .engine import _open
from .errors import QseError

METADATA = ("name", "version", "sample_rate", "n_fft", "hop_length")


class OfflineModel:
    """A loaded offline model. Attributes: name, version, sample_rate in Hz, n_fft, hop_length, metadata (strings)."""

    def __init__(self, path: str | Path, threads: int = 1):
        """Load `path`, an .onnx file. Raises QseError if it is missing, damaged, or not an exported offline model."""
        self.path = Path(path)
        self._session = _open(self.path, threads, False)
        self.metadata = dict(self._session.get_modelmeta().custom_metadata_map)
        if not set(METADATA) <= set(self.metadata) or self._session.get_inputs()[0].name != "spec":
            raise QseError(f"{self.path} is an ONNX file, but not an exported offline model")
        self.name, self.version = self.metadata["name"], self.metadata["version"]
        self.sample_rate, self.n_fft, self.hop_length = (int(self.metadata[key]) for key in METADATA[2:])
        self._window = np.hanning(self.n_fft + 1)[:-1].astype(np.float32)

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

    def segments(
        self, blocks: Iterable[np.ndarray], seconds: float = 10.0, overlap: float = 1.0
    ) -> Iterator[np.ndarray]:
        """Blocks (any number of samples,) of one signal -> enhanced pieces, together as long as the signal.

        Segments of `seconds` overlap by `overlap` seconds, in which one fades into the next. A signal no longer than
        one segment gives exactly what `enhance` gives. ValueError unless 0 < 2 * overlap <= seconds.
        """
        if not 0 < 2 * overlap <= seconds:
            raise ValueError(f"an overlap of {overlap} s does not go with segments of {seconds} s")
        long, shared = round(seconds * self.sample_rate), round(overlap * self.sample_rate)
        rise = (np.arange(shared, dtype=np.float32) + 0.5) / shared
        waiting, tail = np.zeros(0, np.float32), None

        def faded(segment: np.ndarray) -> np.ndarray:
            enhanced = self.enhance(segment)
            if tail is not None:
                enhanced[:shared] = rise * enhanced[:shared] + (1 - rise) * tail
            return enhanced

        for block in blocks:
            waiting = np.concatenate([waiting, block])
            while len(waiting) > long:
                enhanced = faded(waiting[:long])
                yield enhanced[: long - shared]
                tail, waiting = enhanced[long - shared :], waiting[long - shared :]
        if len(waiting):
            yield faded(waiting)

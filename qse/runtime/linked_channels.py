"""Give the channels of a recording one mask, so that what they hold keeps its place between them.

Each channel is enhanced by itself. Then all get, per bin of an STFT, the gain that the energy of
their sum has had, G = sqrt(sum |Y_c|^2 / sum |X_c|^2), and keep the phase of their own result:
Z_c = G |X_c| exp(j arg Y_c). So the level differences are those of the noisy recording.
"""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

FRAME = 0.032  # seconds
TINY = 1e-20  # energy below which a bin is silent

Pair = tuple[np.ndarray, np.ndarray]


def linked(pairs: Iterable[Pair], sample_rate: float) -> Iterator[Pair]:
    """Yield (enhanced, noisy) of pairs of blocks (samples, channels), the channels linked; together
    they are as long as what came.

    `sample_rate` in Hz.
    """
    linking = None
    noisy = np.zeros((0, 0), np.float32)  # whose linked samples are not out yet
    for enhanced, block in pairs:
        if linking is None:
            linking = Linking(sample_rate, block.shape[1])
            noisy = block[:0]
        noisy = np.concatenate([noisy, block])
        out = linking.process(enhanced, block)
        yield out, noisy[: len(out)]
        noisy = noisy[len(out) :]
    if linking:
        yield linking.finish()[: len(noisy)], noisy


class Linking:
    """The STFT of a recording and of its enhanced version: frames of 32 ms that overlap by half,
    with the root of a Hann window before and after."""

    def __init__(self, sample_rate: float, channels: int):
        self._hop = max(1, round(FRAME * sample_rate / 2))
        self._window = np.sin(np.pi * np.arange(2 * self._hop) / (2 * self._hop))
        # enhanced and noisy samples; the first frame begins before them
        self._waiting = np.zeros((2, self._hop, channels), np.float32)
        self._uncut = self._hop
        self._overlap = np.zeros((channels, self._hop))  # second half of the last frame

    def process(self, enhanced: np.ndarray, noisy: np.ndarray) -> np.ndarray:
        """Take aligned blocks (samples, channels); return the linked samples that are ready."""
        hop = self._hop
        self._waiting = np.concatenate([self._waiting, np.stack([enhanced, noisy])], axis=1)
        count = self._waiting.shape[1] // hop - 1
        if count < 1:
            return enhanced[:0]
        whole = self._waiting[:, : (count + 1) * hop]
        frames = sliding_window_view(whole, 2 * hop, axis=1)[:, ::hop]  # 2, frame, channel, sample
        spectra = np.fft.rfft(frames * self._window)
        shaped = np.fft.irfft(one_mask(*spectra), 2 * hop) * self._window
        before = np.concatenate([self._overlap[None], shaped[:-1, :, hop:]])
        self._overlap = shaped[-1, :, hop:]
        self._waiting = self._waiting[:, count * hop :]
        out = (shaped[..., :hop] + before).transpose(0, 2, 1).reshape(count * hop, -1)
        cut = min(self._uncut, len(out))
        self._uncut -= cut
        return out[cut:].astype(np.float32)

    def finish(self) -> np.ndarray:
        """Return the last samples, and silence after them."""
        silence = np.zeros((2 * self._hop, self._waiting.shape[2]), np.float32)
        return self.process(silence, silence)


def one_mask(enhanced: np.ndarray, noisy: np.ndarray) -> np.ndarray:
    """Return the spectra (frames, channels, bins) of linked channels."""
    energy = (np.abs(enhanced) ** 2).sum(axis=1, keepdims=True)
    before = (np.abs(noisy) ** 2).sum(axis=1, keepdims=True)
    gain = np.sqrt(energy / np.maximum(before, TINY))
    silent = enhanced == 0
    phase = np.where(silent, noisy, enhanced)
    return gain * np.abs(noisy) * phase / np.maximum(np.abs(phase), TINY)

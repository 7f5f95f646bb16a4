"""Enhance whole signals: an array at once, or blocks from a file.

A whole signal is a stream with its latency cut off, so both are bit-equal at every block size.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from numbers import Real
from pathlib import Path

import numpy as np

from ..audio.checks import BLOCK, HIGHEST_RATE, LOUDEST, LOWEST_RATE, bad_samples
from ..audio.resample import Resampler, spare
from .attenuation import mixed, noisy_share
from .engine import Engine
from .offline import Segments
from .stream import Stream, float_array
from .zoo import RECORDING_MODEL, Model, resolve

CHANNELS = 64  # most channels of an array: more are samples, in the wrong axis

Channel = Stream | Segments  # one channel on its way through a model


def denoise(
    audio: np.ndarray,
    sample_rate: float,
    model: str | Path | Model = RECORDING_MODEL,
    strength: float | None = None,
    fast: bool = False,
) -> np.ndarray:
    """Enhance `audio` (samples,) or (samples, channels), floats in [-1, 1]: return the same shape
    and dtype.

    `sample_rate` in Hz, 1000 to 10^7. `model` is a name of `available()` or a path, which each
    call loads, or what `load` returns; the default looks 200 ms ahead, which costs a whole signal
    nothing. `strength` limits the attenuation in dB (None: no limit; 0: output = input). `fast`
    halves the time, as in `load`. Each channel is enhanced by itself.

    The graph that fits `sample_rate` is used: above 16 kHz the model's graph for 48 kHz. So a
    loaded model gives the same output as its name; its sister graph is loaded when it is first
    needed, and kept. A model that has one graph only, or was loaded from the path of an .onnx file,
    is used as it is, and the audio is converted to its sample rate and back. Frequencies above half
    the model's sample rate are removed, as noise is.

    Raises QseError for an unknown model, TypeError for an argument of another type, ValueError for
    another shape, no channels or more than 64, a sample rate or strength out of range, samples that
    are not finite or above 1000, `fast` with a model that was loaded without it.
    """
    if not isinstance(sample_rate, Real):
        kind = type(sample_rate).__name__
        raise TypeError(
            f"sample_rate must be a number in Hz, not {kind}; the call is denoise(audio, "
            "sample_rate)"
        )
    if not LOWEST_RATE <= sample_rate <= HIGHEST_RATE:
        limits = f"from {LOWEST_RATE} to {HIGHEST_RATE} Hz"
        raise ValueError(f"sample_rate must be {limits}, not {sample_rate}")
    audio = _checked(float_array("audio", audio))
    noisy = (audio if audio.ndim == 2 else audio[:, None]).astype(np.float32, copy=False)
    blocks = (noisy[start : start + BLOCK] for start in range(0, len(noisy), BLOCK))
    enhanced = [
        noisy[:0],
        *enhance(blocks, sample_rate, resolve(model, sample_rate, fast), strength),
    ]
    return np.concatenate(enhanced).astype(audio.dtype, copy=False).reshape(audio.shape)


def enhance(
    blocks: Iterable[np.ndarray],
    sample_rate: float,
    model: Model,
    strength: float | None = None,
    threads: int = 1,
) -> Iterator[np.ndarray]:
    """Enhance blocks (samples, channels) of one signal; together the output is as long as the input
    and aligned to it.

    Each channel is a stream of its own; `threads` of them are enhanced at the same time. Memory
    does not grow with the signal. With a `strength`, the noisy share is taken at `sample_rate`, so
    it holds the frequencies above the band of the model too.
    """
    share = noisy_share(strength)
    path = None
    with ThreadPoolExecutor(threads) as pool:  # it starts a thread only when there is work for it
        for block in blocks:
            if path is None:
                path = _SignalPath(
                    model, sample_rate, block.shape[1], pool if threads > 1 else None
                )
                noisy = block[:0]  # the samples whose enhanced ones are not out yet
            enhanced = path.process(block)
            noisy = np.concatenate([noisy, block])
            yield mixed(enhanced, noisy[: len(enhanced)], share)
            noisy = noisy[len(enhanced) :]
        if path:
            yield mixed(path.finish()[: len(noisy)], noisy, share)


def open_channel(model: Model) -> Channel:
    """Return a fresh channel, for one signal at the sample rate of `model`."""
    return Stream(model) if isinstance(model, Engine) else model.open_channel()


class _SignalPath:
    """Resample to the model's sample rate, enhance each channel, resample back, cut off the
    latency."""

    def __init__(
        self, model: Model, sample_rate: float, channels: int, pool: ThreadPoolExecutor | None
    ):
        """`pool`: threads for the channels; without it they are enhanced one after another."""
        self._map = pool.map if pool and channels > 1 else map
        self._inward = Resampler(sample_rate, model.sample_rate, channels)
        self._outward = Resampler(model.sample_rate, sample_rate, channels)
        self._channels = [open_channel(model) for _ in range(channels)]
        self._uncut = self._channels[0].latency  # samples still to be cut off
        self._spare = spare(model.sample_rate, sample_rate)

    def process(self, block: np.ndarray) -> np.ndarray:
        """Take (samples, channels); return the enhanced samples that are ready,
        (0 or more, channels)."""
        return self._outward.process(self._enhanced(self._inward.process(block)))

    def finish(self) -> np.ndarray:
        """Flush with zeros: return the samples that are still inside, and a few more."""
        silence = np.zeros((self._spare, len(self._channels)), np.float32)
        rest = self._outward.process(
            self._enhanced(np.concatenate([self._inward.finish(), silence]))
        )
        last = self._outward.process(self._cut(list(self._map(_finish, self._channels))))
        return np.concatenate([rest, last, self._outward.finish()])

    def _enhanced(self, noisy: np.ndarray) -> np.ndarray:
        return self._cut(list(self._map(_process, self._channels, noisy.T)))

    def _cut(self, channels: list[np.ndarray]) -> np.ndarray:
        """Stack the channels to (samples, channels), without the latency at the beginning."""
        enhanced = np.stack(channels, axis=1)
        cut = min(self._uncut, len(enhanced))
        self._uncut -= cut
        return enhanced[cut:]


def _process(channel: Channel, noisy: np.ndarray) -> np.ndarray:
    return channel.process(noisy)


def _finish(channel: Channel) -> np.ndarray:
    return channel.finish()


def _checked(audio: np.ndarray) -> np.ndarray:
    if audio.ndim not in (1, 2):
        raise ValueError(
            f"audio must have the shape (samples,) or (samples, channels), not {audio.shape}"
        )
    if audio.ndim == 2 and not 0 < audio.shape[1] <= CHANNELS:
        raise ValueError(
            f"audio of shape {audio.shape} has {audio.shape[1]} channels: is it (channels, "
            "samples)?"
        )
    count = bad_samples(audio)
    if count:
        raise ValueError(f"audio holds samples that are NaN or infinite, {count} in all")
    loudest = np.abs(audio).max(initial=0)
    if loudest > LOUDEST:
        raise ValueError(
            f"audio has samples of {loudest:.0f}, where full scale is 1: "
            "divide PCM by its full scale"
        )
    return audio

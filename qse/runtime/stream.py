"""Streams: blocks of any size in, as many enhanced samples out, `latency` samples later; and whole arrays.

A whole signal is a stream with its latency cut off, so that both are bit-equal whatever the block size.
strength: how far, in dB, noise is pushed down at most; g = 10^(-strength / 20) of the noisy signal stays in the output.
"""

from collections.abc import Iterable, Iterator
from math import gcd, inf
from pathlib import Path

import numpy as np

from ..audio.reader import BLOCK, LOUDEST, LOWEST_RATE, bad_samples
from ..audio.resample import Resampler, spare
from .attenuation import kept_share
from .offline import Model, OfflineModel, Segments
from .zoo import DEFAULT_MODEL, load, streaming

CHANNELS = 64  # of an array: more are samples, in the wrong place


class Stream:
    """One channel on its way through an engine.

    `latency`: samples by which the output lags the input (that of the engine, and what the block size adds).
    `resets`: how often the model's output was not finite; that hop is silent and the model starts anew.
    """

    def __init__(
        self,
        engine: str | Path | Model,
        blocksize: int | None = None,
        strength: float | None = None,
    ):
        """`engine` is what `load` returns, or takes. With a `blocksize`, every block must be a multiple of
        gcd(blocksize, hop_length) samples long, and the latency is the least that this allows (none is added for a
        multiple of the hop); without, any length goes. `strength` in dB, 0 (output = input, delayed) or more; None: no
        limit. ValueError if either is out of range, QseError for a model that cannot stream."""
        if blocksize is not None and blocksize < 1:
            raise ValueError(f"blocksize {blocksize}: at least one sample")
        self.engine = engine = streaming(_engine(engine))
        self.resets, hop = 0, engine.hop_length
        self._grain = gcd(blocksize, hop) if blocksize else 1
        self.latency = engine.latency + hop - self._grain
        self.strength = strength
        self._walk = engine.session()
        self._noisy, self._filled = np.zeros(hop, np.float32), 0
        self._past = np.zeros(engine.latency + hop, np.float32)  # the noisy samples up to now, oldest first
        self._ready, self._waiting = np.zeros(2 * hop, np.float32), hop - self._grain  # enhanced, not yet handed out

    @property
    def strength(self) -> float | None:
        """How far noise is pushed down at most, in dB; may be changed between two blocks (0 is a bypass)."""
        return self._strength

    @strength.setter
    def strength(self, strength: float | None) -> None:
        self._kept, self._strength = kept_share(strength), strength

    def process(self, block: np.ndarray) -> np.ndarray:
        """`block` (samples,) in [-1, 1], at the engine's sample rate -> as many enhanced samples, float32.

        Samples that are not finite count as 0. ValueError for another shape or a length that `blocksize` rules out,
        TypeError for samples that are not floats.
        """
        block = _floats(block)
        if block.ndim != 1 or len(block) % self._grain:
            raise ValueError(f"a block is (samples,), a multiple of {self._grain}, not of shape {block.shape}")
        enhanced, start = np.empty(len(block), np.float32), 0
        while start < len(block):
            stop = min(len(block), start + len(self._noisy) - self._filled)
            self._push(block[start:stop])
            self._pull(enhanced[start:stop])
            start = stop
        return enhanced

    def finish(self) -> np.ndarray:
        """What is still inside, pushed out by silence: (latency,). Whoever goes on goes on behind that silence."""
        return self.process(np.zeros(self.latency + -self.latency % self._grain, np.float32))[: self.latency]

    def _push(self, samples: np.ndarray) -> None:
        self._noisy[self._filled : self._filled + len(samples)] = samples
        self._filled += len(samples)
        if self._filled == len(self._noisy):
            self._ready[self._waiting : self._waiting + self._filled] = self._hop()
            self._waiting, self._filled = self._waiting + self._filled, 0

    def _pull(self, out: np.ndarray) -> None:
        rest = self._waiting - len(out)
        out[:] = self._ready[: len(out)]
        self._ready[:rest] = self._ready[len(out) : self._waiting]
        self._waiting = rest

    def _hop(self) -> np.ndarray:
        noisy, past = self._noisy, self._past
        if not np.isfinite(noisy).all():
            noisy[~np.isfinite(noisy)] = 0
        enhanced = self._walk.step(noisy)
        if not np.isfinite(enhanced).all():
            self._walk.reset()
            self.resets += 1
            enhanced = np.zeros_like(enhanced)
        past[: -len(noisy)] = past[len(noisy) :]
        past[-len(noisy) :] = noisy
        return _mixed(enhanced, past, self._kept)


def enhance(
    blocks: Iterable[np.ndarray], sample_rate: int, engine: Model, strength: float | None = None
) -> Iterator[np.ndarray]:
    """Blocks (samples, channels) of one signal at `sample_rate` -> enhanced blocks, in all as long and in step with it.

    Every channel is a stream of its own. Memory does not grow with the signal. What stays of the noisy signal for
    `strength` is taken at `sample_rate`, with all that lies above the band of the model.
    """
    kept, path = kept_share(strength), None
    for block in blocks:
        if path is None:
            path = _Path(engine, sample_rate, block.shape[1])
            noisy = block[:0]  # what no enhanced sample belongs to yet
        enhanced, noisy = path.process(block), np.concatenate([noisy, block])
        yield _mixed(enhanced, noisy, kept)
        noisy = noisy[len(enhanced) :]
    if path:
        yield _mixed(path.finish()[: len(noisy)], noisy, kept)


def _mixed(enhanced: np.ndarray, noisy: np.ndarray, kept: np.float32) -> np.ndarray:
    """`enhanced` and the share `kept` of the noisy signal that begins with the same sample."""
    return enhanced if not kept else (1 - kept) * enhanced + kept * noisy[: len(enhanced)]


class _Path:
    """From the file's sample rate to the model's, through one stream per channel, and back."""

    def __init__(self, engine: Model, sample_rate: int, channels: int):
        self._inward = Resampler(sample_rate, engine.sample_rate, channels)
        self._outward = Resampler(engine.sample_rate, sample_rate, channels)
        self._streams = [
            Segments(engine) if isinstance(engine, OfflineModel) else Stream(engine) for _ in range(channels)
        ]
        self._late = self._streams[0].latency  # samples still to be cut off
        self._spare = spare(engine.sample_rate, sample_rate)

    def process(self, block: np.ndarray) -> np.ndarray:
        return self._outward.process(self._through(self._inward.process(block)))

    def finish(self) -> np.ndarray:
        """What is still inside, pushed out by silence."""
        rest = self._inward.finish()
        silence = np.zeros((self._spare, len(self._streams)), np.float32)
        rest = self._outward.process(self._through(np.concatenate([rest, silence])))
        last = self._outward.process(self._cut([stream.finish() for stream in self._streams]))
        return np.concatenate([rest, last, self._outward.finish()])

    def _through(self, noisy: np.ndarray) -> np.ndarray:
        return self._cut([stream.process(noisy[:, c]) for c, stream in enumerate(self._streams)])

    def _cut(self, channels: list[np.ndarray]) -> np.ndarray:
        """Channels side by side, without the latency at the beginning."""
        enhanced = np.stack(channels, axis=1)
        cut = min(self._late, len(enhanced))
        self._late -= cut
        return enhanced[cut:]


def denoise(
    audio: np.ndarray,
    sample_rate: int,
    model: str | Path | Model = DEFAULT_MODEL,
    strength: float | None = None,
) -> np.ndarray:
    """`audio` (samples,) or (samples, channels), floats in [-1, 1] -> enhanced, of the same shape and dtype.

    `sample_rate` in Hz, at least LOWEST_RATE; `model` is a name of `available()` or a path, which each call loads
    anew, or what `load` returns; `strength` in dB limits how far noise is pushed down (None: no limit; 0: not at all).
    Every channel is enhanced by itself. A model knows nothing above half its own sample rate: that band goes with the
    noise. Raises QseError for an unknown model, TypeError for samples that are not floats, ValueError for another
    shape, for no channels or more than CHANNELS, for a sample rate out of range, for a strength below 0, for samples
    that are not finite or above LOUDEST.
    """
    if not LOWEST_RATE <= sample_rate < inf:
        raise ValueError(f"sample_rate {sample_rate}: it counts in Hz, at least {LOWEST_RATE}")
    audio = _floats(audio)
    if audio.ndim not in (1, 2):
        raise ValueError(f"audio is (samples,) or (samples, channels), not of shape {audio.shape}")
    if audio.ndim == 2 and not 0 < audio.shape[1] <= CHANNELS:
        raise ValueError(f"audio of shape {audio.shape} has {audio.shape[1]} channels: is it (channels, samples)?")
    if count := bad_samples(audio):
        raise ValueError(f"{count} samples are NaN or infinite")
    if (loudest := np.abs(audio).max(initial=0)) > LOUDEST:
        raise ValueError(f"samples of {loudest:.0f}, where full scale is 1: divide PCM by its full scale first")
    engine = _engine(model)
    noisy = (audio if audio.ndim == 2 else audio[:, None]).astype(np.float32, copy=False)
    blocks = (noisy[start : start + BLOCK] for start in range(0, len(noisy), BLOCK))
    enhanced = [noisy[:0], *enhance(blocks, sample_rate, engine, strength)]
    return np.concatenate(enhanced).astype(audio.dtype, copy=False).reshape(audio.shape)


def _engine(model: str | Path | Model) -> Model:
    return load(model) if isinstance(model, str | Path) else model


def _floats(audio: np.ndarray) -> np.ndarray:
    audio = np.asarray(audio)
    if audio.dtype.kind != "f":
        raise TypeError(f"samples are floats in [-1, 1], not {audio.dtype}; divide PCM by its full scale first")
    return audio

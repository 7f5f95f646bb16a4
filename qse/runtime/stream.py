"""Enhance one channel block by block, with a fixed latency and the same output at every block size.

HopStream returns hops as soon as they are complete; Stream returns as many samples as it is given.
"""

from collections.abc import Iterator
from math import gcd
from numbers import Integral, Real
from pathlib import Path
from threading import Lock

import numpy as np

from ..audio.checks import HIGHEST_RATE, LOWEST_RATE
from .array_check import float_array
from .attenuation import mixed, noisy_share
from .engine import Engine
from .enrolment import Talker, keeping
from .rate_conversion import RateConversion
from .zoo import Model, resolve, streaming


class HopStream:
    """Feed samples to an engine and yield one enhanced hop for every hop_length samples. One thread
    at a time.

    `latency`: samples by which the output lags the input. `resets`: count of hops in which the
    model's output was not finite; such a hop is silent, and the model restarts from its initial
    state. `noisy_share`: share of the noisy signal in the output, 0 to 1; may be set at any time.
    `unmixed`: the last hop of the model's output, without that share.
    """

    def __init__(self, engine: Engine, noisy_share: float = 0.0, glide: float = 1.0):
        """`glide`: the most by which the share in use moves towards `noisy_share` from one hop to
        the next."""
        hop = engine.hop_length
        self.latency = engine.latency
        self.resets = 0
        self.noisy_share = noisy_share
        self._share = noisy_share  # in use, on its way to `noisy_share`
        self._glide = glide
        self._session = engine.session()
        self._hop = np.zeros(hop, np.float32)
        self._filled = 0
        # the last noisy samples, oldest first
        self._past = np.zeros(engine.latency + hop, np.float32)
        self.unmixed = np.zeros(hop, np.float32)

    @property
    def missing(self) -> int:
        """Return the samples until the next hop is complete."""
        return len(self._hop) - self._filled

    def hops(self, block: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Take `block` (samples,); for each hop that it completes yield the output and the noisy
        signal aligned to it.

        Both are (hop_length,) float32, in buffers that the next hop overwrites. Samples that are
        not finite count as 0.
        """
        start = 0
        while start < len(block):
            part = block[start : start + self.missing]
            self._hop[self._filled : self._filled + len(part)] = part
            start = start + len(part)
            self._filled = self._filled + len(part)
            if not self.missing:
                self._filled = 0
                yield self._step(self._hop)

    def _step(self, hop: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if not np.isfinite(hop).all():
            hop[~np.isfinite(hop)] = 0
        enhanced = self._session.step(hop)
        if not np.isfinite(enhanced).all():
            self._session.reset()
            self.resets += 1
            enhanced = np.zeros_like(enhanced)
        self.unmixed = enhanced
        past = self._past
        size = len(hop)
        past[:-size] = past[size:]
        past[-size:] = hop
        self._share += min(self._glide, max(-self._glide, self.noisy_share - self._share))
        return mixed(enhanced, past[:size], self._share), past[:size]


class Stream:
    """Enhance one channel block by block: as many samples out as in, `latency` samples later.

    Attributes: `sample_rate` of the blocks in Hz; `latency` in samples at that rate; `engine`.

    Use a stream in one thread at a time: overlapping calls are refused. Any number of streams may
    share an engine, each in a thread of its own. A hop in which the model's output is not finite is
    silent, and the model restarts.
    """

    def __init__(
        self,
        model: str | Path | Model,
        sample_rate: float | None = None,
        blocksize: int | None = None,
        strength: float | None = None,
        talker: Talker | None = None,
    ):
        """Open a stream for blocks at `sample_rate`, with `model`: what `load` returns, or takes.

        sample_rate: in Hz, 1000 to 10^7. Above 16 kHz the model's graph for 48 kHz is used, if
        there is one. Blocks at another rate than the graph's are converted to it and back, which
        adds 1.5 to 8 ms of latency from 8 kHz up. None: the rate of the loaded model; with a name
        or folder, 16 kHz.
        blocksize: without it, blocks may have any length. With it, every block must be a multiple
        of gcd(blocksize, hop_length) samples long, and the latency is the least that this allows:
        that of the engine for a multiple of the hop. Where the sample rate is converted, blocks of
        any length are taken and `blocksize` does not change the latency.
        strength: attenuation limit in dB from 0 (output = delayed input) up; None: no limit. The
        noisy share has the full band of the blocks.
        talker: whose voice is kept, as in `load`; streams of one engine may each have their own.
        Raises TypeError or ValueError for an argument of another type or range, QseError for a
        model that cannot stream.
        """
        _check(sample_rate, blocksize)
        self.engine = streaming(resolve(model, sample_rate))
        if talker is not None:
            self.engine = keeping(self.engine, talker)
        hop = self.engine.hop_length
        self.sample_rate = sample_rate or self.engine.sample_rate
        converted = self.sample_rate != self.engine.sample_rate

        self._blocksize = blocksize
        self._grain = gcd(blocksize, hop) if blocksize and not converted else 1
        self._hops = HopStream(self.engine)
        self._waiting = hop - self._grain  # samples of `_ready` in use
        self._ready = np.zeros(2 * hop, np.float32)  # enhanced, not yet returned
        self.latency = self.engine.latency + hop - self._grain

        self._conversion: RateConversion | None = None
        if converted:
            conversion = RateConversion(self.sample_rate, self.engine.sample_rate, self.latency)
            self._conversion = conversion
            self.latency = conversion.latency
        self._free = Lock()
        self.strength = strength

    @property
    def strength(self) -> float | None:
        """Attenuation limit in dB; may be changed between two blocks
        (0: bypass, None: no limit)."""
        return self._strength

    @strength.setter
    def strength(self, strength: float | None) -> None:
        self._share = noisy_share(strength)
        self._strength = strength
        self._hops.noisy_share = 0.0 if self._conversion else self._share

    @property
    def resets(self) -> int:
        """Count of resets of the model because its output was not finite."""
        return self._hops.resets

    def process(self, block: np.ndarray) -> np.ndarray:
        """Enhance `block` (samples,), floats in [-1, 1] at `sample_rate`: return as many, float32.

        Samples that are not finite count as 0. Raises ValueError for another shape or a length that
        `blocksize` rules out, TypeError for samples that are not floats, RuntimeError while
        another thread is in a call of this stream.
        """
        if not self._free.acquire(blocking=False):
            raise RuntimeError("the stream is in use by another thread: give each its own Stream")
        try:
            return self._processed(float_array("block", block))
        finally:
            self._free.release()

    def _processed(self, block: np.ndarray) -> np.ndarray:
        if block.ndim != 1 or len(block) % self._grain:
            raise ValueError(self._refusal(block.shape))
        if self._conversion is None:
            return self._enhanced(block)

        noisy = block.astype(np.float32)
        noisy[~np.isfinite(noisy)] = 0
        enhanced, delayed = self._conversion.process(noisy, self._enhanced)
        return mixed(enhanced, delayed, self._share)

    def _enhanced(self, block: np.ndarray) -> np.ndarray:
        """Enhance (samples,) at the model's sample rate."""
        enhanced = np.empty(len(block), np.float32)
        start = 0
        while start < len(block):
            stop = min(len(block), start + self._hops.missing)
            for hop, _ in self._hops.hops(block[start:stop]):
                self._ready[self._waiting : self._waiting + len(hop)] = hop
                self._waiting += len(hop)
            self._take(enhanced[start:stop])
            start = stop
        return enhanced

    def finish(self) -> np.ndarray:
        """Flush with zeros: return the last (latency,) samples.

        Later calls continue after that silence.
        """
        return self.process(np.zeros(self.latency + -self.latency % self._grain, np.float32))[
            : self.latency
        ]

    def _take(self, out: np.ndarray) -> None:
        left = self._waiting - len(out)
        out[:] = self._ready[: len(out)]
        self._ready[:left] = self._ready[len(out) : self._waiting]
        self._waiting = left

    def _refusal(self, shape: tuple[int, ...]) -> str:
        if len(shape) != 1:
            return f"a block has the shape (samples,), not {shape}: use one stream per channel"
        hop = self.engine.hop_length
        return (
            f"a block of {shape[0]} samples does not fit: with blocksize={self._blocksize} and the "
            f"model's hop of {hop} samples, every block must be a multiple of {self._grain} (their "
            "greatest common divisor); leave blocksize out for blocks of any length"
        )


def _check(sample_rate: float | None, blocksize: int | None) -> None:
    if not isinstance(sample_rate, Real | None):
        raise TypeError(
            f"sample_rate must be a number in Hz or None, not {type(sample_rate).__name__}"
        )
    if sample_rate is not None and not LOWEST_RATE <= sample_rate <= HIGHEST_RATE:
        cure = "a block's length is given by name, Stream(model, blocksize=480)"
        limits = f"from {LOWEST_RATE} to {HIGHEST_RATE} Hz"
        raise ValueError(f"sample_rate must be {limits}, not {sample_rate}; {cure}")
    if not isinstance(blocksize, Integral | None):
        raise TypeError(
            f"blocksize must be a number of samples (int) or None, not {type(blocksize).__name__}"
        )
    if blocksize is not None and blocksize < 1:
        raise ValueError(f"blocksize must be at least 1 sample, not {blocksize}")

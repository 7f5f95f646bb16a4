"""Enhance live PCM at any sample rate from 8 to 48 kHz, block by block: the core of the live
adapters, and an adapter for telephone calls."""

from pathlib import Path
from typing import Literal, Protocol

import numpy as np

from ..runtime.attenuation import mixed, noisy_share
from ..runtime.denoise import CHANNELS
from ..runtime.stream import Stream
from ..runtime.zoo import DEFAULT_MODEL, Model, resolve, streaming
from .g711 import A_LAW, FULL_SCALE, MU_LAW, rounded
from .shared_model import shared

__all__ = ["PcmStream"]

LOWEST_RATE = 8000  # Hz
HIGHEST_RATE = 48000  # Hz
FADE = 0.05  # seconds from the noisy to the enhanced signal when the filter is switched


class Coding(Protocol):
    """Convert between bytes and samples (samples,), floats in [-1, 1); `width`: bytes of one."""

    width: int

    def decode(self, payload: bytes) -> np.ndarray: ...

    def encode(self, samples: np.ndarray) -> bytes: ...


class Linear16:
    """16-bit samples in the native byte order."""

    width = 2

    def decode(self, payload: bytes) -> np.ndarray:
        """Return float32 (samples,)."""
        return np.frombuffer(payload, np.int16).astype(np.float32) / FULL_SCALE

    def encode(self, samples: np.ndarray) -> bytes:
        """Return the bytes of `samples` (samples,); those beyond [-1, 1) clip."""
        return rounded(samples).tobytes()


CODINGS: dict[str, Coding] = {"linear": Linear16(), "mu-law": MU_LAW, "a-law": A_LAW}


class PcmStream:
    """Enhance one stream of interleaved PCM, of 16 bits (native byte order) or by G.711: as many
    bytes out as in.

    Each channel is enhanced by itself. The model's sample rate limits the band of the enhanced
    signal; the noisy share that an attenuation limit leaves in has the full band. Use a stream in
    one thread at a time.

    latency: samples by which the output lags the input.
    enabled: if false, the output is the input, `latency` samples later, sample for sample. May be
    set at any time and takes effect within FADE seconds, without a click.
    """

    def __init__(
        self,
        model: str | Path | Model = DEFAULT_MODEL,
        sample_rate: int = 16000,
        channels: int = 1,
        strength: float | None = None,
        coding: Literal["linear", "mu-law", "a-law"] = "linear",
    ):
        """Open a stream with `model`: what `qse.load` takes or returns; streams share one that is
        named.

        The graph for the sample rate is used. strength: attenuation limit in dB; None: no limit.
        coding: of the bytes, in and out: "linear", 16 bits; "mu-law" or "a-law", 8 bits (G.711).

        Raises ValueError for a sample rate, number of channels, strength or coding that there is
        not, QseError for a model that cannot stream.
        """
        if not LOWEST_RATE <= sample_rate <= HIGHEST_RATE or sample_rate % 1:
            limits = f"{LOWEST_RATE} to {HIGHEST_RATE} Hz"
            raise ValueError(f"sample_rate must be from {limits}, not {sample_rate}")
        if not 1 <= channels <= CHANNELS:
            raise ValueError(f"channels must be from 1 to {CHANNELS}, not {channels}")
        if coding not in CODINGS:
            raise ValueError(f"coding must be one of {', '.join(CODINGS)}, not {coding}")
        self.sample_rate = sample_rate
        self.channels = channels
        self.enabled = True
        self.strength = strength
        self._coding = CODINGS[coding]

        loaded = shared(model).result() if isinstance(model, str | Path) else model
        engine = streaming(resolve(loaded, sample_rate))
        self._streams = [Stream(engine, sample_rate) for _ in range(channels)]
        self.latency = self._streams[0].latency
        self._past = np.zeros((self.latency, channels), np.float32)  # noisy, not in the output yet
        self._share = self._wanted

    @property
    def strength(self) -> float | None:
        """Attenuation limit in dB (0: output = delayed input, None: no limit); may be changed at
        any time."""
        return self._strength

    @strength.setter
    def strength(self, strength: float | None) -> None:
        self._limit = noisy_share(strength)
        self._strength = strength

    def process(self, pcm: bytes) -> bytes:
        """Enhance the next block, of any length.

        Raises ValueError if it ends inside a sample, TypeError for an array of wider samples.
        """
        noisy = self._samples(pcm)
        channels = zip(self._streams, noisy.T, strict=True)
        enhanced = np.stack([stream.process(channel) for stream, channel in channels], axis=1)

        line = np.concatenate([self._past, noisy])
        delayed = line[: len(noisy)]
        self._past = line[len(noisy) :]

        return self._coding.encode(self._mixed(enhanced, delayed).ravel())

    def finish(self) -> bytes:
        """Flush with silence: return the last `latency` samples, which end where the input ended.

        All output without its first `latency` samples is then as long as the input, and aligned
        with it. Later calls continue after that silence.
        """
        return self.process(self._coding.encode(np.zeros(self.latency * self.channels)))

    def _samples(self, pcm: bytes) -> np.ndarray:
        """Return a block as (samples, channels), floats in [-1, 1)."""
        if memoryview(pcm).itemsize != 1:
            cure = "give the tobytes() of an int16 array"
            raise TypeError(f"pcm must be bytes of 16-bit samples, not an array: {cure}")
        width = self._coding.width
        if len(pcm) % (width * self.channels):
            form = f"{8 * width}-bit samples in {self.channels} channels"
            raise ValueError(f"{len(pcm)} bytes are no whole number of {form}")
        return self._coding.decode(pcm).reshape(-1, self.channels)

    @property
    def _wanted(self) -> float:
        return self._limit if self.enabled else 1.0

    def _mixed(self, enhanced: np.ndarray, delayed: np.ndarray) -> np.ndarray:
        wanted = self._wanted
        if self._share == wanted:
            return delayed if wanted == 1 else mixed(enhanced, delayed, wanted)

        way = np.arange(1, len(delayed) + 1) / (FADE * self.sample_rate)
        share = self._share + np.clip(wanted - self._share, -way, way)[:, None].astype(np.float32)
        if len(share):
            reached = way[-1] >= abs(wanted - self._share)
            self._share = wanted if reached else float(share[-1, 0])
        return enhanced + share * (delayed - enhanced)

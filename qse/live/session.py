"""A live session: source -> model -> outputs, recording and file, with its levels, times, latency
and dropouts.

Only `run` does the work, in the thread that iterates it; everything else may be called from another
thread.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from time import perf_counter

import numpy as np

from ..audio.resample import rounding_reserve
from ..runtime.attenuation import noisy_share
from ..runtime.engine import Engine
from ..runtime.meter import Meter
from ..runtime.stream import HopStream
from .activity import SilenceCheck, SpeechIndicator
from .downmix import Downmix
from .dropouts import Dropouts
from .level import Level
from .protocols import AudioOutput, LiveInput
from .recorder import Recorder

GLIDE = 0.125  # most change of the noisy share per hop, so that a bypass is cross-faded


@dataclass(frozen=True)
class Latency:
    """Seconds from a sound to the same moment in the output, by their parts."""

    device_in: float
    blocks: float
    model: float
    device_out: float

    @property
    def total(self) -> float:
        """The sum of all parts."""
        return self.device_in + self.blocks + self.model + self.device_out


class LiveSession:
    """Enhance a source and play the result on any number of outputs.

    `bypass`: set it to play the noisy signal instead, with the same latency; cross-faded over eight
    hops. `muted`: set it to silence outputs, file and recording, noisy side included; faded within
    a hop. `noisy`, `enhanced`: levels (dBFS, over the last half second). `meter`: processing time
    per block. `speech`, `silence`: whether speech is heard, and whether the source delivers any
    sound. `recorded`: the recordings that have ended. `pauses`, `paused`: how often, and for how
    many seconds, the process was stopped.
    """

    def __init__(
        self,
        engine: Engine,
        source: LiveInput,
        speakers: Sequence[AudioOutput] = (),
        recorder: Recorder | None = None,
        strength: float | None = None,
    ):
        """`strength`: attenuation limit in dB (see Stream)."""
        self.engine = engine
        self.source = source
        self.speakers = tuple(speakers)
        self.recorder = recorder
        self.bypass = False
        self.muted = False
        self.recorded: list[Recorder] = []
        self.meter = Meter(source.sample_rate)
        self.reset_levels()
        self.channels = 1 if speakers else source.channels
        self.strength = strength
        self._gain = 1.0
        self._downmix = Downmix(engine.sample_rate)
        self._streams = [HopStream(engine, self._share, GLIDE) for _ in range(self.channels)]
        self.pauses = 0
        self.paused = 0.0
        self._dropouts = Dropouts(source, self.speakers)

    @property
    def strength(self) -> float | None:
        """Attenuation limit in dB (see Stream); may be changed at any time."""
        return self._strength

    @strength.setter
    def strength(self, strength: float | None) -> None:
        self._share = noisy_share(strength)
        self._strength = strength

    def record(self, recorder: Recorder | None) -> None:
        """End the recording, if there is one, and begin another with `recorder`, unless that is
        None."""
        former = self.recorder
        self.recorder = recorder
        if former:
            former.close()
            self.recorded.append(former)

    def start(self) -> None:
        """Open the devices: outputs first, as some take a second to settle. Raises NoSound."""
        for speaker in self.speakers:
            speaker.start(self.engine.sample_rate, self._burst)
        self.source.start(self.engine.sample_rate)

    def run(self) -> Iterator[np.ndarray]:
        """Yield enhanced blocks (samples, channels) at the model's rate until the source ends or
        `stop` is called.

        Then flush with zeros: together they are `engine.latency` and a few samples longer than the
        input.
        """
        received = 0
        returned = 0
        for block in self.source.blocks():
            began = perf_counter()
            noisy = self._mixed_down(self.source.convert(block))
            received += len(noisy)
            enhanced = self._process(noisy)
            returned += len(enhanced)
            self.meter.add(self.source.samples - self.meter.samples, perf_counter() - began)
            yield enhanced
        rest = self._mixed_down(self.source.rest())
        left = received + len(rest) + self.engine.latency - returned
        left += rounding_reserve(self.engine.sample_rate, self.source.sample_rate)
        silence = np.zeros((left + self.engine.hop_length, self.channels), np.float32)
        yield self._process(np.concatenate([rest, silence]))[:left]
        for speaker in self.speakers:
            speaker.finish()

    def reset_levels(self) -> None:
        """Start the meters of the signals again, at silence."""
        rate = self.engine.sample_rate
        self.noisy = Level(rate)
        self.enhanced = Level(rate)
        self.speech = SpeechIndicator(rate)
        self.silence = SilenceCheck(rate)

    def stop(self) -> None:
        """Let `run` end."""
        self.source.stop()

    def close(self) -> None:
        """Close devices and recording."""
        for speaker in self.speakers:
            speaker.close()
        self.source.close()
        if self.recorder:
            self.recorder.close()

    def resume(self, seconds: float) -> None:
        """Count a pause: the process was stopped for `seconds`. Dropouts that follow from it are
        not counted."""
        self.pauses += 1
        self.paused += seconds
        self._dropouts.excuse()
        for port in (*self.speakers, *self.source.devices):
            port.touch()

    def update(self) -> None:
        """Keep the count of dropouts up to date around a pause; call this several times a
        second."""
        self._dropouts.update()

    @property
    def dropouts(self) -> int:
        """Audible interruptions so far."""
        return sum(self.reasons.values())

    @property
    def reasons(self) -> dict[str, int]:
        """The dropouts by their reasons, those that did not happen left out."""
        return self._dropouts.reasons

    @property
    def resets(self) -> int:
        """Count of resets of the model because its output was not finite."""
        return sum(stream.resets for stream in self._streams)

    @property
    def latency(self) -> Latency:
        """The present latency; with several outputs that of the first."""
        speaker = self.speakers[0] if self.speakers else None
        blocks = self.source.buffered + (speaker.buffered if speaker else 0.0)
        blocks += (self._burst - self.source.blocksize / self.source.sample_rate) / 2
        model = self.engine.latency / self.engine.sample_rate
        return Latency(self.source.latency, blocks, model, speaker.latency if speaker else 0.0)

    @property
    def _burst(self) -> float:
        """Seconds of sound that the model may deliver at once: a block, and what it completes of a
        hop."""
        block = Fraction(self.source.blocksize * self.engine.sample_rate, self.source.sample_rate)
        hop = self.engine.hop_length
        together = gcd(int(block), hop) if block.denominator == 1 else 0
        return float(block + hop - together) / self.engine.sample_rate

    def _mixed_down(self, noisy: np.ndarray) -> np.ndarray:
        """Mix the channels of a file where a device plays them."""
        return noisy if noisy.shape[1] == self.channels else self._downmix.process(noisy)[:, None]

    @property
    def channels_heard(self) -> str:
        """Which channels of the source are heard, where those are not all; else empty."""
        return self._downmix.reason or self.source.channels_heard

    def _process(self, noisy: np.ndarray) -> np.ndarray:
        """Enhance (samples, channels) and deliver every hop at once; return the hops that are
        complete."""
        for stream in self._streams:
            stream.noisy_share = 1.0 if self.bypass else self._share

        done = [noisy[:0]]
        channels = [stream.hops(noisy[:, c]) for c, stream in enumerate(self._streams)]
        for hops in zip(*channels, strict=True):
            enhanced = np.stack([hop for hop, _ in hops], axis=1)
            past = np.stack([hop for _, hop in hops], axis=1)
            unmixed = np.stack([stream.unmixed for stream in self._streams], axis=1)
            self.noisy.add(past)
            self.silence.add(past)
            self.speech.add(past, unmixed)
            enhanced, past = self._faded(enhanced, past)
            self._deliver(past, enhanced)
            done.append(enhanced)
        return np.concatenate(done)

    def _faded(self, enhanced: np.ndarray, past: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Silence a hop (hop_length, channels) of both signals if `muted`; fade where that has
        changed."""
        gain = 0.0 if self.muted else 1.0
        if self._gain == gain == 1:
            return enhanced, past
        way = np.linspace(self._gain, gain, len(enhanced) + 1, dtype=np.float32)[1:, None]
        self._gain = gain
        return enhanced * way, past * way

    def _deliver(self, noisy: np.ndarray, enhanced: np.ndarray) -> None:
        """Hand out a hop (hop_length, channels) and the noisy signal aligned to it."""
        self.enhanced.add(enhanced)
        for speaker in self.speakers:
            speaker.write(enhanced, len(enhanced) / self.engine.sample_rate)
        recorder = self.recorder  # another thread may end it meanwhile
        if recorder:
            recorder.put(np.concatenate([noisy, enhanced], axis=1))

"""One running of the live path: source -> model -> loudspeakers, recording, file; and what can be said of it meanwhile.

source: a Microphone or a FileSource. Blocks come as the source delivers them and are gathered into hops; the model
works hop by hop, so that nothing waits longer than it must. Only `run` does the work, in whatever thread iterates it;
everything else may be called from another.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from time import perf_counter

import numpy as np

from ..audio.resample import spare
from ..runtime.attenuation import kept_share
from ..runtime.engine import Engine
from ..runtime.meter import Level, Meter
from ..runtime.stream import Stream
from .file_source import FileSource
from .ports import Loudspeaker, Microphone
from .recorder import Recorder

GLIDE = 0.125  # of the noisy signal more or less with every hop, when a bypass is switched


@dataclass(frozen=True)
class Latency:
    """Seconds from a sound to the same moment in the output, and what they are made of."""

    device_in: float
    blocks: float
    model: float
    device_out: float

    @property
    def total(self) -> float:
        """The sum of all parts."""
        return self.device_in + self.blocks + self.model + self.device_out


class LiveSession:
    """Everything between a source and its loudspeakers.

    `bypass`: set it to hear the noisy signal, as late as the enhanced one, and back; it passes over within eight hops.
    `noisy`, `enhanced`: levels (dBFS, over the last half second); `meter`: processing time per block.
    """

    def __init__(
        self,
        engine: Engine,
        source: Microphone | FileSource,
        speakers: Sequence[Loudspeaker] = (),
        recorder: Recorder | None = None,
        strength: float | None = None,
    ):
        """`strength` in dB limits how far noise is pushed down (see Stream)."""
        self.engine, self.source, self.speakers, self.recorder = engine, source, tuple(speakers), recorder
        self.bypass = False
        self.meter = Meter(source.sample_rate)
        self.forget_levels()
        self.channels = 1 if speakers else source.channels
        self._streams = [Stream(engine, engine.hop_length, strength) for _ in range(self.channels)]
        self._kept = self._asked = float(kept_share(strength))
        self._rest = np.zeros((0, self.channels), np.float32)
        self._past = np.zeros((engine.latency, self.channels), np.float32)

    def start(self) -> None:
        """Open the devices: the loudspeakers first, as some take a second to settle. Raises NoSound."""
        for speaker in self.speakers:
            speaker.start(self.engine.sample_rate, self._burst)
        self.source.start(self.engine.sample_rate)

    def run(self) -> Iterator[np.ndarray]:
        """Enhanced blocks (samples, channels) at the model's rate, until the source ends or `stop`; then the samples
        that are still inside, pushed out by silence: in all `engine.latency` and a few more than came in."""
        came = went = 0
        for block in self.source.blocks():
            began = perf_counter()
            noisy = self._fit(self.source.convert(block))
            came += len(noisy)
            enhanced = self._process(noisy)
            went += len(enhanced)
            self.meter.add(len(block), perf_counter() - began)
            yield enhanced
        rest = self._fit(self.source.rest())
        wanted = came + len(rest) + self.engine.latency + spare(self.engine.sample_rate, self.source.sample_rate) - went
        silence = np.zeros((wanted + self.engine.hop_length, self.channels), np.float32)
        yield self._process(np.concatenate([rest, silence]))[:wanted]
        for speaker in self.speakers:
            speaker.finish()

    def forget_levels(self) -> None:
        """Let the meters begin anew, at silence."""
        self.noisy, self.enhanced = Level(self.engine.sample_rate), Level(self.engine.sample_rate)

    def stop(self) -> None:
        """Let `run` come to its end."""
        self.source.stop()

    def close(self) -> None:
        """Close devices and recording."""
        for port in (*self.speakers, self.source):
            if isinstance(port, Microphone | Loudspeaker):
                port.close()
        if self.recorder:
            self.recorder.close()

    @property
    def dropouts(self) -> int:
        """Interruptions so far: sound that came too late, piled up, or was not fetched in time."""
        return self.source.dropouts + sum(speaker.dropouts for speaker in self.speakers)

    @property
    def reasons(self) -> dict[str, int]:
        """The dropouts by what led to them; without those that did not happen."""
        reasons = {
            self.source.complaint: self.source.dropouts,
            "block late": sum(speaker.player.late for speaker in self.speakers),
            "output piled up": sum(speaker.player.skipped for speaker in self.speakers),
            "sound card starved": sum(speaker.starved for speaker in self.speakers),
        }
        return {reason: count for reason, count in reasons.items() if count}

    @property
    def resets(self) -> int:
        """How often the model's output was not finite, and it began anew."""
        return sum(stream.resets for stream in self._streams)

    @property
    def latency(self) -> Latency:
        """The way of a sample, now; for the first of several loudspeakers."""
        speaker = self.speakers[0] if self.speakers else None
        blocks = self.source.waits + (speaker.waits if speaker else 0.0)
        blocks += (self._burst - self.source.blocksize / self.source.sample_rate) / 2
        model = self.engine.latency / self.engine.sample_rate
        return Latency(self.source.latency, blocks, model, speaker.latency if speaker else 0.0)

    @property
    def _burst(self) -> float:
        """Seconds of sound that the model may deliver at once: a block, and what it completes of a hop."""
        block = Fraction(self.source.blocksize * self.engine.sample_rate, self.source.sample_rate)
        hop = self.engine.hop_length
        together = gcd(int(block), hop) if block.denominator == 1 else 0
        return float(block + hop - together) / self.engine.sample_rate

    def _fit(self, noisy: np.ndarray) -> np.ndarray:
        """A file's channels become one where a device plays them."""
        return noisy if noisy.shape[1] == self.channels else noisy.mean(axis=1, keepdims=True)

    def _process(self, noisy: np.ndarray) -> np.ndarray:
        self._rest = np.concatenate([self._rest, noisy])
        hop = self.engine.hop_length
        whole = len(self._rest) // hop * hop
        hops, self._rest = self._rest[:whole].reshape(-1, hop, self.channels), self._rest[whole:]
        return np.concatenate([noisy[:0], *(self._step(hop) for hop in hops)])

    def _step(self, hop: np.ndarray) -> np.ndarray:
        self._glide()
        enhanced = np.stack([stream.process(hop[:, c]) for c, stream in enumerate(self._streams)], axis=1)
        line = np.concatenate([self._past, hop])
        noisy, self._past = line[: len(hop)], line[len(hop) :]
        self.noisy.add(noisy)
        self.enhanced.add(enhanced)
        for speaker in self.speakers:
            speaker.write(enhanced, len(enhanced) / self.engine.sample_rate)
        if self.recorder:
            self.recorder.put(np.concatenate([noisy, enhanced], axis=1))
        return enhanced

    def _glide(self) -> None:
        aim = 1.0 if self.bypass else self._asked
        if self._kept != aim:
            self._kept += float(np.clip(aim - self._kept, -GLIDE, GLIDE))
            for stream in self._streams:
                stream.strength = -20 * np.log10(self._kept) if self._kept > 0 else None

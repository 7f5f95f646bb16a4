"""A frame processor for LiveKit audio streams: enhance a participant's speech as it is received.

    from qse.integrations.livekit import QseProcessor
    stream = rtc.AudioStream(track, noise_cancellation=QseProcessor(strength=12))

Needs the extra "livekit". LiveKit calls a processor on its event loop and waits for the answer, so a frame of 10 ms
costs at most one step of the model there; longer frames cost as many steps as they contain hops.
"""

from pathlib import Path

from ..extras import need
from ..runtime.attenuation import noisy_share
from ..runtime.bands import FULL_BAND
from ..runtime.model import Model
from ..runtime.zoo import DEFAULT_MODEL
from .pcm import PcmStream, engine_at

need("livekit.rtc", extra="livekit")
from livekit.rtc import AudioFrame, FrameProcessor  # noqa: E402


class QseProcessor(FrameProcessor[AudioFrame]):
    """Enhance audio frames: each frame out has the sample rate, channels and samples of the one in.

    The output lags the input by `latency` samples. Another sample rate or number of channels begins a new stream.
    """

    def __init__(self, model: str | Path | Model = DEFAULT_MODEL, strength: float | None = None):
        """`model` is what `qse.load` returns, or takes: several processors may share one. `strength`: attenuation limit
        in dB; None: no limit.

        Raises QseError for an unknown model or one that cannot stream, ValueError for a strength below 0.
        """
        self._engine_at = engine_at(model, FULL_BAND)  # a load later would stop the event loop
        self._stream: PcmStream | None = None
        self._enabled = True
        self.strength = strength

    @property
    def enabled(self) -> bool:
        """True while frames are enhanced. LiveKit bypasses a disabled processor, without delay."""
        return self._enabled

    @enabled.setter
    def enabled(self, value: bool) -> None:
        if value and not self._enabled:
            self._stream = None  # what it holds is old by now
        self._enabled = value

    @property
    def strength(self) -> float | None:
        """Attenuation limit in dB (None: no limit); may be changed at any time."""
        return self._strength

    @strength.setter
    def strength(self, strength: float | None) -> None:
        noisy_share(strength)
        self._strength = strength

    @property
    def latency(self) -> int:
        """Samples by which the output lags the input, at the sample rate of the frames; 0 before the first one."""
        return self._stream.latency if self._stream else 0

    def _process(self, frame: AudioFrame) -> AudioFrame:
        """Enhance one frame; LiveKit calls this for each frame of a stream."""
        if not self._enabled:
            return frame
        stream = self._stream
        if stream is None or (stream.sample_rate, stream.channels) != (
            frame.sample_rate,
            frame.num_channels,
        ):
            engine = self._engine_at(frame.sample_rate)
            stream = PcmStream(engine, frame.sample_rate, frame.num_channels, self._strength)
            self._stream = stream
        if stream.strength != self._strength:
            stream.strength = self._strength
        enhanced = stream.process(bytes(frame.data.cast("B")))
        return AudioFrame(
            enhanced,
            frame.sample_rate,
            frame.num_channels,
            frame.samples_per_channel,
            userdata=frame.userdata,
        )

    def _close(self) -> None:
        """End the stream; the next frame begins another one."""
        self._stream = None

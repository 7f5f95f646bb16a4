"""A frame processor for LiveKit audio streams: enhance a participant's speech as it is received.

    from qse.integrations.livekit import QseProcessor
    stream = rtc.AudioStream(track, noise_cancellation=QseProcessor(strength=12))

Needs the extra "livekit". LiveKit calls a processor on its event loop and waits for the answer, so
a frame of 10 ms costs at most one step of the model there; longer frames cost as many steps as
they contain hops. The model is loaded in a thread.
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from weakref import WeakKeyDictionary

from ..extras import need
from ..runtime.attenuation import noisy_share
from ..runtime.zoo import DEFAULT_MODEL, Model
from .pcm import PcmStream
from .shared_model import shared

need("livekit.rtc", extra="livekit")
from livekit.rtc import AudioFrame, FrameProcessor  # noqa: E402

GAP = 1.0  # seconds without a frame after which a stream begins anew


@dataclass
class _Track:
    """The stream of a track, and when its latest frame came."""

    stream: PcmStream
    seen: float


class QseProcessor(FrameProcessor[AudioFrame]):
    """Enhance audio frames: each frame out has the sample rate, channels and samples of the one in.

    The output lags the input by `latency` samples. Each LiveKit audio stream that uses the
    processor has a state of its own. Another sample rate or number of channels begins a new one,
    and so does a second without frames, as of a muted track: what the old one holds is past.
    Frames are silent until the model is loaded, once per process; `loaded` waits for that.
    """

    def __init__(self, model: str | Path | Model = DEFAULT_MODEL, strength: float | None = None):
        """`model` is what `qse.load` takes or returns; processors share one that is named.

        strength: attenuation limit in dB; None: no limit.
        Raises QseError for an unknown model, ValueError for a strength below 0. `loaded` and frames
        raise QseError for a model that is damaged or cannot stream; LiveKit then passes the frames
        as they are, with a warning for each.
        """
        self._model = shared(model)
        self._streams: WeakKeyDictionary[object, _Track] = WeakKeyDictionary()
        self._latency = 0
        self._enabled = True
        self.strength = strength

    async def loaded(self) -> None:
        """Wait until the model is loaded. Raises QseError if it is damaged or cannot stream."""
        await asyncio.wrap_future(self._model)

    @property
    def enabled(self) -> bool:
        """True while frames are enhanced. LiveKit bypasses a disabled processor, without delay."""
        return self._enabled

    @enabled.setter
    def enabled(self, value: bool) -> None:
        if value and not self._enabled:
            self._streams.clear()  # what they hold is old by now
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
        """Samples by which the output lags the input, at the sample rate of the latest frame.

        0 before the first one.
        """
        return self._latency

    def _process(self, frame: AudioFrame) -> AudioFrame:
        """Enhance one frame; LiveKit calls this for each frame of a stream."""
        if not self._enabled:
            return frame

        pcm = bytes(frame.data.cast("B"))
        if not self._model.done():
            return _like(frame, bytes(len(pcm)))

        stream = self._stream_for(frame)
        if stream.strength != self._strength:
            stream.strength = self._strength
        return _like(frame, stream.process(pcm))

    def _stream_for(self, frame: AudioFrame) -> PcmStream:
        """Return the stream of the track to which `frame` belongs, a new one if its form
        changed."""
        task = _task() or self
        track = self._streams.get(task)
        form = (frame.sample_rate, frame.num_channels)
        if track is None or not _goes_on(track, form):
            track = _Track(PcmStream(self._model.result(), *form, self._strength), monotonic())
            self._streams[task] = track
        track.seen = monotonic()
        self._latency = track.stream.latency
        return track.stream

    def _close(self) -> None:
        """Forget the tracks that have ended; LiveKit calls this after the end of each."""
        for track in list(self._streams):
            if not isinstance(track, asyncio.Task) or track.done():
                del self._streams[track]


def _goes_on(track: _Track, form: tuple[int, int]) -> bool:
    """Return whether a frame of this sample rate and channels continues the stream of a track."""
    same = (track.stream.sample_rate, track.stream.channels) == form
    return same and monotonic() - track.seen < GAP


def _task() -> "asyncio.Task | None":
    """Return the present task; each LiveKit audio stream has one of its own."""
    try:
        return asyncio.current_task()
    except RuntimeError:  # no event loop runs
        return None


def _like(frame: AudioFrame, pcm: bytes) -> AudioFrame:
    """Return a frame of the form of `frame` with other samples."""
    return AudioFrame(
        pcm,
        frame.sample_rate,
        frame.num_channels,
        frame.samples_per_channel,
        userdata=frame.userdata,
    )

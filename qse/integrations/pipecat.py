"""An audio filter for Pipecat transports: enhance the user's speech before voice activity detection
and recognition.

    from qse.integrations.pipecat import QseFilter
    params = TransportParams(audio_in_enabled=True, audio_in_filter=QseFilter(strength=12))

Needs the extra "pipecat". The model is loaded and run in threads, never on the event loop.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ..errors import UsageError
from ..extras import need
from ..runtime.attenuation import noisy_share
from ..runtime.zoo import DEFAULT_MODEL, Model
from .pcm import PcmStream
from .shared_model import shared

need("pipecat", extra="pipecat")
from pipecat.audio.filters.base_audio_filter import BaseAudioFilter  # noqa: E402
from pipecat.frames import frames  # noqa: E402


class QseFilter(BaseAudioFilter):
    """Enhance 16-bit PCM: for each call as many bytes out as in, `latency` samples later, never an
    empty answer.

    A filter belongs to one transport. A FilterEnableFrame switches between enhanced and noisy
    sound, which stays as late as the enhanced one; a FilterUpdateSettingsFrame({"strength": 12})
    changes the attenuation limit. Both work while the transport runs.
    """

    def __init__(
        self,
        model: str | Path | Model = DEFAULT_MODEL,
        strength: float | None = None,
        channels: int = 1,
    ):
        """`model` is what `qse.load` takes or returns; filters share one that is named.

        strength: attenuation limit in dB; None: no limit.
        channels: those of the transport (`audio_in_channels`).
        Raises QseError for an unknown model, ValueError for a strength below 0.
        """
        noisy_share(strength)
        self._model = shared(model)
        self._strength = strength
        self._channels = channels
        self._enabled = True
        self._stream: PcmStream | None = None
        self._thread: ThreadPoolExecutor | None = None

    @property
    def latency(self) -> int:
        """Samples by which the output lags the input, at the transport's sample rate; 0 before
        `start`."""
        return self._stream.latency if self._stream else 0

    async def start(self, sample_rate: int) -> None:
        """Begin a stream at `sample_rate`.

        Raises ValueError for a sample rate outside 8 to 48 kHz, QseError for a model that is
        damaged or cannot stream, UsageError if the filter has been started and not stopped.
        """
        if self._thread:
            cure = "make a QseFilter for each; they share the model"
            raise UsageError(f"this QseFilter is in use by another transport: {cure}")

        thread = ThreadPoolExecutor(1, "qse filter")
        self._thread = thread
        try:
            self._stream = await asyncio.get_running_loop().run_in_executor(
                thread, self._opened, sample_rate
            )
        except BaseException:
            await self.stop()
            raise
        self._apply()

    def _opened(self, sample_rate: int) -> PcmStream:
        return PcmStream(self._model.result(), sample_rate, self._channels, self._strength)

    async def stop(self) -> None:
        """End the stream; `start` begins another one."""
        thread = self._thread
        self._thread = None
        self._stream = None
        if thread:
            thread.shutdown(wait=False)  # calls that wait get their answer

    async def process_frame(self, frame: frames.FilterControlFrame) -> None:
        """Obey a FilterEnableFrame or FilterUpdateSettingsFrame. Raises ValueError for an unknown
        setting."""
        if isinstance(frame, frames.FilterEnableFrame):
            self._enabled = frame.enable
        elif isinstance(frame, frames.FilterUpdateSettingsFrame):
            unknown = ", ".join(sorted(set(frame.settings) - {"strength"}))
            if unknown:
                raise ValueError(f"unknown settings {unknown}: the filter has only strength, in dB")
            strength = frame.settings.get("strength", self._strength)
            noisy_share(strength)
            self._strength = strength
        self._apply()

    def _apply(self) -> None:
        """Pass the settings on to the stream."""
        if self._stream:
            self._stream.enabled = self._enabled
            self._stream.strength = self._strength

    async def filter(self, audio: bytes) -> bytes:
        """Enhance the next block. Before `start` and after `stop` it is returned as it is."""
        stream = self._stream
        if stream is None:
            return audio
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, stream.process, audio)

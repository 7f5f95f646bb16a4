"""An audio filter for Pipecat transports: enhance the user's speech before voice activity detection and recognition.

    from qse.integrations.pipecat import QseFilter
    params = TransportParams(audio_in_enabled=True, audio_in_filter=QseFilter(strength=12))

Needs the extra "pipecat". The model runs in a thread of the filter's own, never on the event loop.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ..extras import need
from ..runtime.attenuation import noisy_share
from ..runtime.bands import FULL_BAND
from ..runtime.model import Model
from ..runtime.zoo import DEFAULT_MODEL
from .pcm import PcmStream, engine_at

need("pipecat", extra="pipecat")
from pipecat.audio.filters.base_audio_filter import BaseAudioFilter  # noqa: E402
from pipecat.frames.frames import FilterControlFrame, FilterEnableFrame, FilterUpdateSettingsFrame  # noqa: E402


class QseFilter(BaseAudioFilter):
    """Enhance 16-bit PCM: for each call as many bytes out as in, `latency` samples later, never an empty answer.

    A FilterEnableFrame switches between enhanced and noisy sound, which stays as late as the enhanced one; a
    FilterUpdateSettingsFrame({"strength": 12}) changes the attenuation limit. Both work while the transport runs.
    """

    def __init__(
        self,
        model: str | Path | Model = DEFAULT_MODEL,
        strength: float | None = None,
        channels: int = 1,
    ):
        """`model` is what `qse.load` returns, or takes: several filters may share one. `strength`: attenuation limit in
        dB; None: no limit. `channels`: those of the transport (`audio_in_channels`).

        Raises QseError for an unknown model or one that cannot stream, ValueError for a strength below 0.
        """
        self._engine_at = engine_at(model, FULL_BAND)  # a load later would stop the event loop
        self._strength, self._channels, self._enabled = strength, channels, True
        self._stream: PcmStream | None = None
        self._thread: ThreadPoolExecutor | None = None
        noisy_share(strength)

    @property
    def latency(self) -> int:
        """Samples by which the output lags the input, at the transport's sample rate; 0 before `start`."""
        return self._stream.latency if self._stream else 0

    async def start(self, sample_rate: int) -> None:
        """Begin a stream at `sample_rate`. Raises ValueError for one outside 8 to 48 kHz."""
        self._stream = PcmStream(
            self._engine_at(sample_rate), sample_rate, self._channels, self._strength
        )
        self._stream.enabled = self._enabled
        self._thread = self._thread or ThreadPoolExecutor(1, "qse filter")

    async def stop(self) -> None:
        """End the stream; `start` begins another one."""
        thread, self._thread, self._stream = self._thread, None, None
        if thread:
            thread.shutdown(wait=False, cancel_futures=True)

    async def process_frame(self, frame: FilterControlFrame) -> None:
        """Obey a FilterEnableFrame or FilterUpdateSettingsFrame. Raises ValueError for an unknown setting."""
        if isinstance(frame, FilterEnableFrame):
            self._enabled = frame.enable
        elif isinstance(frame, FilterUpdateSettingsFrame):
            if unknown := set(frame.settings) - {"strength"}:
                raise ValueError(
                    f"unknown settings {', '.join(sorted(unknown))}: the filter has only strength, in dB"
                )
            strength = frame.settings.get("strength", self._strength)
            noisy_share(strength)
            self._strength = strength
        if self._stream:
            self._stream.enabled, self._stream.strength = self._enabled, self._strength

    async def filter(self, audio: bytes) -> bytes:
        """Enhance the next block. Before `start` and after `stop` it is returned as it is."""
        if self._stream is None or self._thread is None:
            return audio
        return await asyncio.get_running_loop().run_in_executor(
            self._thread, self._stream.process, audio
        )

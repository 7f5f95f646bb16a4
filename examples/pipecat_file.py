"""Send a recording through a Pipecat transport with QseFilter; write what the pipeline receives.

    pip install "qse-speech[pipecat]"
    python examples/pipecat_file.py assets/noisy.wav enhanced.wav

A bot uses the same filter in the parameters of its own transport; nothing else changes.
"""

import asyncio
import sys

import numpy as np
import soundfile
from pipecat.frames.frames import EndFrame, InputAudioRawFrame
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.transports.base_input import BaseInputTransport
from pipecat.transports.base_transport import TransportParams
from pipecat.workers.runner import WorkerRunner

from qse.integrations.pipecat import QseFilter


class FileInput(BaseInputTransport):
    """An input transport that delivers `pcm` in frames of 20 ms."""

    def __init__(self, params, pcm):
        super().__init__(params)
        self._pcm = pcm

    async def start(self, frame):
        await super().start(frame)
        await self.set_transport_ready(frame)
        size = self.sample_rate // 50
        for start in range(0, len(self._pcm), size):
            audio = self._pcm[start : start + size].tobytes()
            block = InputAudioRawFrame(audio, sample_rate=self.sample_rate, num_channels=1)
            await self.push_audio_frame(block)


class Collector(FrameProcessor):
    """Collect the sound of all frames; `complete` is set when there are `wanted` bytes."""

    def __init__(self, wanted):
        super().__init__()
        self.audio = b""
        self.complete = asyncio.Event()
        self._wanted = wanted

    async def process_frame(self, frame, direction):
        await super().process_frame(frame, direction)
        if isinstance(frame, InputAudioRawFrame):
            self.audio += frame.audio
            if len(self.audio) >= self._wanted:
                self.complete.set()
        await self.push_frame(frame, direction)


async def main(source, target):
    pcm, rate = soundfile.read(source, dtype="int16")
    qse = QseFilter(strength=20)
    params = TransportParams(audio_in_enabled=True, audio_in_filter=qse)
    collector = Collector(pcm.nbytes)
    pipeline = Pipeline([FileInput(params, pcm), collector])
    worker = PipelineWorker(pipeline, params=PipelineParams(audio_in_sample_rate=rate))
    runner = WorkerRunner()
    await runner.add_workers(worker)
    running = asyncio.create_task(runner.run())
    await collector.complete.wait()
    milliseconds = 1000 * qse.latency / rate
    print(f"{len(pcm) / rate:.1f} s of sound, {milliseconds:.1f} ms later than the input")
    await worker.queue_frame(EndFrame())
    await running
    soundfile.write(target, np.frombuffer(collector.audio, np.int16), rate)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

"""The Pipecat filter, by itself and inside a transport."""

import asyncio
import threading

import graphs
import numpy as np
import pytest

pytest.importorskip("pipecat")

from pipecat.frames.frames import FilterEnableFrame, FilterUpdateSettingsFrame, InputAudioRawFrame

import qse
from qse.integrations.pcm import PcmStream
from qse.integrations.pipecat import QseFilter

PCM = np.random.default_rng(0).integers(-9000, 9000, 16000).astype(np.int16)


async def through(filter, block=320):
    return b"".join(
        [
            await filter.filter(PCM[start : start + block].tobytes())
            for start in range(0, len(PCM), block)
        ]
    )


@pytest.mark.parametrize("rate", [8000, 16000, 24000, 48000])
def test_filter_equals_pcm_stream(recurrent, rate):
    async def run():
        filter = QseFilter(recurrent, strength=12)
        await filter.start(rate)
        out = await through(filter)
        assert filter.latency == PcmStream(recurrent, rate).latency
        await filter.stop()
        return out

    stream = PcmStream(recurrent, rate, strength=12)
    expected = b"".join(
        stream.process(PCM[start : start + 320].tobytes()) for start in range(0, len(PCM), 320)
    )
    assert asyncio.run(run()) == expected


def test_filter_uses_the_graph_for_its_sample_rate(tmp_path, monkeypatch):
    """Both graphs are loaded when the filter is created, so that `start` does not stop the event
    loop."""
    graphs.delay(tmp_path / "model.onnx")
    graphs.delay(tmp_path / "model-48k.onnx", latency=480, sample_rate=48000, hop_length=480)
    filter = QseFilter(tmp_path)
    filter._model.result()
    monkeypatch.setattr("qse.runtime.zoo._open", None)

    async def run(rate):
        await filter.start(rate)
        out = np.frombuffer(await through(filter), np.int16)
        latency = filter.latency
        assert (out[latency:] == PCM[:-latency]).all()
        await filter.stop()
        return latency

    assert [asyncio.run(run(rate)) for rate in (16000, 48000)] == [319, 959]


def test_filter_is_switched_by_frames(recurrent):
    async def run():
        filter = QseFilter(recurrent)
        await filter.process_frame(FilterEnableFrame(enable=False))
        await filter.start(16000)
        await filter.filter(bytes(3200))  # the switch is over
        noisy = np.frombuffer(await through(filter), np.int16)
        assert (noisy[filter.latency :] == PCM[: -filter.latency]).all()
        await filter.process_frame(FilterEnableFrame(enable=True))
        await filter.filter(bytes(3200))
        assert (np.frombuffer(await through(filter), np.int16) != noisy).any()
        await filter.process_frame(FilterUpdateSettingsFrame(settings={"strength": 0}))
        await filter.filter(bytes(3200))
        assert (
            np.frombuffer(await through(filter), np.int16)[filter.latency :].tobytes()
            == noisy[filter.latency :].tobytes()
        )
        with pytest.raises(ValueError, match="unknown settings"):
            await filter.process_frame(FilterUpdateSettingsFrame(settings={"volume": 3}))
        await filter.stop()

    asyncio.run(run())


def test_filter_passes_sound_before_start_and_after_stop(delay):
    async def run():
        filter = QseFilter(delay)
        assert await filter.filter(b"abcd") == b"abcd"
        await filter.start(16000)
        assert await filter.filter(b"abcd") == bytes(4)
        await filter.stop()
        assert await filter.filter(b"abcd") == b"abcd"
        await filter.start(48000)
        assert len(await filter.filter(bytes(960))) == 960
        await filter.stop()

    asyncio.run(run())


def test_filter_leaves_the_event_loop_free(delay, monkeypatch):
    begun = threading.Event()
    go = threading.Event()

    def waiting(self, pcm):
        begun.set()
        assert go.wait(30)  # set by the event loop, which this does not block
        return pcm

    monkeypatch.setattr(PcmStream, "process", waiting)

    async def run():
        filter = QseFilter(delay)
        await filter.start(16000)
        work = asyncio.ensure_future(filter.filter(bytes(320)))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        go.set()
        assert await work == bytes(320)
        await filter.stop()

    asyncio.run(run())


def test_stop_leaves_calls_that_wait_their_answer(delay, monkeypatch):
    go = threading.Event()

    def waiting(self, pcm):
        assert go.wait(30)
        return pcm

    monkeypatch.setattr(PcmStream, "process", waiting)

    async def run():
        filter = QseFilter(delay)
        await filter.start(16000)
        calls = [asyncio.create_task(filter.filter(bytes([number] * 320))) for number in range(3)]
        await asyncio.sleep(0)
        await filter.stop()
        go.set()
        return await asyncio.gather(*calls)

    assert asyncio.run(run()) == [bytes([number] * 320) for number in range(3)]


def test_filter_in_a_second_transport_is_refused(delay):
    async def run():
        filter = QseFilter(delay)
        await filter.start(16000)
        with pytest.raises(qse.QseError, match="in use by another transport: make a QseFilter"):
            await filter.start(16000)
        await filter.stop()
        await filter.start(48000)
        await filter.stop()

    asyncio.run(run())


def test_filter_that_does_not_start_may_be_started_again(delay):
    async def run():
        filter = QseFilter(delay)
        with pytest.raises(ValueError, match="from 8000"):
            await filter.start(7000)
        await filter.start(16000)
        assert await filter.filter(bytes(320)) == bytes(320)
        await filter.stop()

    asyncio.run(run())


def test_twenty_filters_enhance_at_once(recurrent):
    async def participant(number):
        filter = QseFilter(recurrent)
        await filter.start(16000)
        own = np.roll(PCM, 100 * number).tobytes()
        received = [await filter.filter(own[start : start + 640]) for start in range(0, 6400, 640)]
        await filter.stop()
        return own, received

    async def run():
        return await asyncio.gather(*(participant(number) for number in range(20)))

    for own, received in asyncio.run(run()):
        stream = PcmStream(recurrent)
        assert received == [
            stream.process(own[start : start + 640]) for start in range(0, 6400, 640)
        ]


def test_filter_inside_transport(recurrent):
    """The input transport applies the filter to every frame and pushes frames of equal length."""
    from pipecat.pipeline.pipeline import Pipeline
    from pipecat.processors.frame_processor import FrameProcessor
    from pipecat.transports.base_input import BaseInputTransport
    from pipecat.transports.base_transport import TransportParams

    received = []

    class Input(BaseInputTransport):
        async def start(self, frame):
            await super().start(frame)
            await self.set_transport_ready(frame)
            for start in range(0, len(PCM), 320):
                pcm = PCM[start : start + 320].tobytes()
                await self.push_audio_frame(
                    InputAudioRawFrame(pcm, sample_rate=16000, num_channels=1)
                )

    class Sink(FrameProcessor):
        async def process_frame(self, frame, direction):
            await super().process_frame(frame, direction)
            if isinstance(frame, InputAudioRawFrame):
                received.append(frame.audio)
            await self.push_frame(frame, direction)

    async def run():
        from pipecat.frames.frames import EndFrame
        from pipecat.pipeline.worker import PipelineParams, PipelineWorker
        from pipecat.workers.runner import WorkerRunner

        params = TransportParams(audio_in_enabled=True, audio_in_filter=QseFilter(recurrent))
        worker = PipelineWorker(
            Pipeline([Input(params), Sink()]), params=PipelineParams(audio_in_sample_rate=16000)
        )

        async def end():
            while len(received) < 50:
                await asyncio.sleep(0.01)
            await worker.queue_frame(EndFrame())

        ending = asyncio.ensure_future(end())
        runner = WorkerRunner(handle_sigint=False)
        await runner.add_workers(worker)
        await asyncio.wait_for(runner.run(), 60)
        await ending

    asyncio.run(run())
    stream = PcmStream(recurrent, 16000)
    assert b"".join(received) == b"".join(
        stream.process(PCM[n : n + 320].tobytes()) for n in range(0, len(PCM), 320)
    )

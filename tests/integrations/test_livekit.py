"""The LiveKit frame processor, with the frames of the real package."""

import asyncio
import threading

import graphs
import numpy as np
import pytest

pytest.importorskip("livekit.rtc")

from livekit import rtc
from livekit.rtc import AudioFrame, FrameProcessor

import qse
from qse.integrations import livekit
from qse.integrations.livekit import QseProcessor
from qse.integrations.pcm import PcmStream


def frames(rate, channels=1, count=50):
    rng = np.random.default_rng(0)
    size = rate // 100
    for _ in range(count):
        data = rng.integers(-9000, 9000, size * channels).astype(np.int16).tobytes()
        yield AudioFrame(data, rate, channels, size, userdata={"kept": True})


def made(model, **options):
    """Return a processor whose model is loaded."""
    processor = QseProcessor(model, **options)
    asyncio.run(processor.loaded())
    return processor


@pytest.mark.parametrize(
    "rate, channels", [(8000, 1), (16000, 1), (24000, 1), (48000, 1), (48000, 2)]
)
def test_processor_equals_pcm_stream(recurrent, rate, channels):
    processor = made(recurrent, strength=12)
    stream = PcmStream(recurrent, rate, channels, strength=12)
    assert isinstance(processor, FrameProcessor) and processor.enabled and processor.latency == 0
    for frame in frames(rate, channels):
        out = processor._process(frame)
        assert (out.sample_rate, out.num_channels, out.samples_per_channel) == (
            rate,
            channels,
            rate // 100,
        )
        assert bytes(out.data.cast("B")) == stream.process(bytes(frame.data.cast("B")))
        assert out.userdata == {"kept": True}
    assert processor.latency == stream.latency


def test_processor_begins_anew_at_another_rate(recurrent):
    processor = made(recurrent)
    for rate in (48000, 16000):
        stream = PcmStream(recurrent, rate)
        for frame in frames(rate):
            assert bytes(processor._process(frame).data.cast("B")) == stream.process(
                bytes(frame.data.cast("B"))
            )


def test_processor_begins_anew_after_a_gap(recurrent, monkeypatch):
    now = [50.0]
    monkeypatch.setattr(livekit, "monotonic", lambda: now[0])
    processor = made(recurrent)
    stream = PcmStream(recurrent)
    for pause, is_new in ((0.0, False), (0.9, False), (1.1, True)):
        now[0] += pause
        stream = PcmStream(recurrent) if is_new else stream
        for frame in frames(16000):
            expected = stream.process(bytes(frame.data.cast("B")))
            assert bytes(processor._process(frame).data.cast("B")) == expected


def test_processor_disabled_passes_frames(recurrent):
    processor = made(recurrent)
    first = [bytes(processor._process(frame).data.cast("B")) for frame in frames(16000)]
    processor.enabled = False
    assert not processor.enabled
    for frame in frames(16000):
        assert processor._process(frame) is frame
    processor.enabled = True
    assert [bytes(processor._process(frame).data.cast("B")) for frame in frames(16000)] == first
    processor._close()
    assert [bytes(processor._process(frame).data.cast("B")) for frame in frames(16000)] == first


def test_processor_strength_may_change(recurrent):
    processor = made(recurrent, strength=0)
    noisy = b"".join(bytes(processor._process(frame).data.cast("B")) for frame in frames(16000))
    sent = b"".join(bytes(frame.data.cast("B")) for frame in frames(16000))
    assert noisy[2 * processor.latency :] == sent[: -2 * processor.latency]
    processor.strength = None
    changed = [bytes(processor._process(frame).data.cast("B")) for frame in frames(16000)]
    assert b"".join(changed)[2 * processor.latency :] != sent[: -2 * processor.latency]
    with pytest.raises(ValueError, match="from 0 up"):
        processor.strength = -3


PARTICIPANTS = 20


def voices(rate, number, count=20):
    """The frames of one participant: noise of its own."""
    rng = np.random.default_rng(number)
    size = rate // 100
    for _ in range(count):
        yield rng.integers(-9000, 9000, size).astype(np.int16).tobytes()


def test_processor_keeps_twenty_participants_apart(recurrent):
    """Their frames come in turn, each from a task of its own, as from LiveKit's audio streams."""

    async def participant(processor, number):
        received = []
        for pcm in voices(16000, number):
            frame = processor._process(AudioFrame(pcm, 16000, 1, 160))
            received.append(bytes(frame.data.cast("B")))
            await asyncio.sleep(0)  # the next participant's frame
        return received

    async def run():
        processor = QseProcessor(recurrent)
        await processor.loaded()
        tracks = (participant(processor, number) for number in range(PARTICIPANTS))
        return await asyncio.gather(*tracks)

    for number, received in enumerate(asyncio.run(run())):
        stream = PcmStream(recurrent)
        assert received == [stream.process(pcm) for pcm in voices(16000, number)]


def test_processor_closed_by_one_stream_goes_on_for_others(recurrent):
    """LiveKit closes the processor at the end of each audio stream that uses it."""

    async def run():
        processor = QseProcessor(recurrent)
        await processor.loaded()
        received = []

        async def track(closes):
            for pcm in voices(16000, 0):
                frame = processor._process(AudioFrame(pcm, 16000, 1, 160))
                received.append(bytes(frame.data.cast("B")))
                if closes:
                    processor._close()

        await asyncio.create_task(track(closes=False))
        await asyncio.create_task(track(closes=True))
        processor._close()
        assert len(processor._streams) == 0
        return received

    received = asyncio.run(run())
    assert received[:20] == received[20:]


def test_sessions_load_one_model_off_the_event_loop(tmp_path, monkeypatch):
    graphs.delay(tmp_path / "model.onnx")
    released = threading.Event()
    loads = []

    def slow(model):
        loads.append(threading.current_thread())
        assert released.wait(30)
        return qse.load(model)

    monkeypatch.setattr("qse.integrations.shared_model.load", slow)
    pcm = np.full(160, 5000, np.int16).tobytes()

    async def run():
        processors = [QseProcessor(tmp_path) for _ in range(10)]
        early = processors[0]._process(AudioFrame(pcm, 16000, 1, 160))
        assert bytes(early.data.cast("B")) == bytes(320)
        released.set()
        for processor in processors:
            await processor.loaded()
        for _ in range(3):
            late = processors[0]._process(AudioFrame(pcm, 16000, 1, 160))
        assert bytes(late.data.cast("B")) == pcm

    asyncio.run(run())
    assert len(loads) == 1 and loads[0] is not threading.main_thread()


class Witness(QseProcessor):
    """Keeps the frames that LiveKit gives to the processor, by the task that gave them."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.given = {}

    def _process(self, frame):
        given = self.given.setdefault(asyncio.current_task(), [])
        given.append(bytes(frame.data.cast("B")))
        return super()._process(frame)


@pytest.mark.parametrize("rate", [16000, 48000])
def test_processor_inside_two_audio_streams(tmp_path, rate):
    """Two local tracks, without a room, deliver to two audio streams, which call one processor for
    each frame.

    A busy machine may miss frames, for which LiveKit inserts silence; the processor is held to the
    frames it was given.
    """
    graphs.recurrent(tmp_path / "model.onnx")
    graphs.delay(tmp_path / "model-48k.onnx", latency=480, sample_rate=48000, hop_length=480)
    processor = Witness(tmp_path)

    async def run():
        await processor.loaded()
        return await asyncio.gather(heard(), heard())

    async def heard():
        source = rtc.AudioSource(rate, num_channels=1)
        track = rtc.LocalAudioTrack.create_audio_track("microphone", source)
        stream = rtc.AudioStream.from_track(
            track=track,
            sample_rate=rate,
            num_channels=1,
            frame_size_ms=10,
            noise_cancellation=processor,
        )
        capturing = asyncio.create_task(capture(source))
        received = []
        async for event in stream:
            received.append(bytes(event.frame.data.cast("B")))
            if len(received) == 50:
                break
        capturing.cancel()
        await stream.aclose()
        await source.aclose()
        return received

    async def capture(source):
        for frame in frames(rate, count=1000):
            await source.capture_frame(frame)

    received = asyncio.run(asyncio.wait_for(run(), 60))
    expected = []
    for given in processor.given.values():
        stream = PcmStream(tmp_path, rate)
        expected.append([stream.process(pcm) for pcm in given[:50]])
    assert stream.latency == (960 - 1 if rate == 48000 else 159)  # of the graph for this rate
    assert sorted(received) == sorted(expected) and len(received) == 2
    assert any(any(pcm) for pcm in received[0])


def test_processor_loads_both_graphs_at_once(tmp_path, monkeypatch):
    """A graph that is loaded at the first frame would stop LiveKit's event loop."""
    graphs.delay(tmp_path / "model.onnx")
    graphs.delay(tmp_path / "model-48k.onnx", latency=480, sample_rate=48000, hop_length=480)
    processor = made(tmp_path)
    monkeypatch.setattr("qse.runtime.zoo._open", None)
    for rate in (16000, 48000):
        for frame in frames(rate, count=1):
            processor._process(frame)

"""The LiveKit frame processor, with the frames of the real package."""

import asyncio

import graphs
import numpy as np
import pytest

pytest.importorskip("livekit.rtc")

from livekit import rtc
from livekit.rtc import AudioFrame, FrameProcessor

from qse.integrations.livekit import QseProcessor
from qse.integrations.pcm import PcmStream


def frames(rate, channels=1, count=50):
    rng = np.random.default_rng(0)
    size = rate // 100
    for _ in range(count):
        data = rng.integers(-9000, 9000, size * channels).astype(np.int16).tobytes()
        yield AudioFrame(data, rate, channels, size, userdata={"kept": True})


@pytest.mark.parametrize(
    "rate, channels", [(8000, 1), (16000, 1), (24000, 1), (48000, 1), (48000, 2)]
)
def test_processor_equals_pcm_stream(recurrent, rate, channels):
    processor, stream = (
        QseProcessor(recurrent, strength=12),
        PcmStream(recurrent, rate, channels, strength=12),
    )
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
    processor = QseProcessor(recurrent)
    for rate in (48000, 16000):
        stream = PcmStream(recurrent, rate)
        for frame in frames(rate):
            assert bytes(processor._process(frame).data.cast("B")) == stream.process(
                bytes(frame.data.cast("B"))
            )


def test_processor_disabled_passes_frames(recurrent):
    processor = QseProcessor(recurrent)
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
    processor = QseProcessor(recurrent, strength=0)
    noisy = b"".join(bytes(processor._process(frame).data.cast("B")) for frame in frames(16000))
    sent = b"".join(bytes(frame.data.cast("B")) for frame in frames(16000))
    assert noisy[2 * processor.latency :] == sent[: -2 * processor.latency]
    processor.strength = None
    changed = [bytes(processor._process(frame).data.cast("B")) for frame in frames(16000)]
    assert b"".join(changed)[2 * processor.latency :] != sent[: -2 * processor.latency]
    with pytest.raises(ValueError, match="from 0 up"):
        processor.strength = -3


class Witness(QseProcessor):
    """Keeps the frames that LiveKit gives to the processor."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.given = []

    def _process(self, frame):
        self.given.append(bytes(frame.data.cast("B")))
        return super()._process(frame)


@pytest.mark.parametrize("rate", [16000, 48000])
def test_processor_inside_audio_stream(tmp_path, rate):
    """A local track, without a room, delivers to a LiveKit audio stream, which calls the processor for each frame.

    A busy machine may miss frames, for which LiveKit inserts silence; the processor is held to the frames it was given.
    """
    graphs.recurrent(tmp_path / "model.onnx")
    graphs.delay(tmp_path / "model-48k.onnx", latency=480, sample_rate=48000, hop_length=480)
    processor, received = Witness(tmp_path), []

    async def run():
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
        async for event in stream:
            received.append(bytes(event.frame.data.cast("B")))
            if len(received) == 50:
                break
        capturing.cancel()
        await stream.aclose()
        await source.aclose()

    async def capture(source):
        for frame in frames(rate, count=1000):
            await source.capture_frame(frame)

    asyncio.run(asyncio.wait_for(run(), 60))
    stream = PcmStream(tmp_path, rate)
    assert stream.latency == (960 - 1 if rate == 48000 else 159)  # that of the graph for this rate
    assert received == [stream.process(pcm) for pcm in processor.given[:50]]
    assert any(any(pcm) for pcm in received)


def test_processor_loads_both_graphs_at_once(tmp_path, monkeypatch):
    """A graph that is loaded at the first frame would stop LiveKit's event loop."""
    graphs.delay(tmp_path / "model.onnx")
    graphs.delay(tmp_path / "model-48k.onnx", latency=480, sample_rate=48000, hop_length=480)
    processor = QseProcessor(tmp_path)
    monkeypatch.setattr("qse.runtime.bands.load", None)
    for rate in (16000, 48000):
        for frame in frames(rate, count=1):
            processor._process(frame)

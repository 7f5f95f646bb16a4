"""The LiveKit frame processor, with the frames of the real package."""

import numpy as np
import pytest

pytest.importorskip("livekit.rtc")

from livekit.rtc import AudioFrame, FrameProcessor

from qse.integrations.livekit import QseProcessor
from qse.integrations.pcm import PcmStream


def frames(rate, channels=1, count=50):
    rng = np.random.default_rng(0)
    size = rate // 100
    for _ in range(count):
        data = rng.integers(-9000, 9000, size * channels).astype(np.int16).tobytes()
        yield AudioFrame(data, rate, channels, size, userdata={"kept": True})


@pytest.mark.parametrize("rate, channels", [(8000, 1), (16000, 1), (24000, 1), (48000, 1), (48000, 2)])
def test_processor_equals_pcm_stream(recurrent, rate, channels):
    processor, stream = QseProcessor(recurrent, strength=12), PcmStream(recurrent, rate, channels, strength=12)
    assert isinstance(processor, FrameProcessor) and processor.enabled and processor.latency == 0
    for frame in frames(rate, channels):
        out = processor._process(frame)
        assert (out.sample_rate, out.num_channels, out.samples_per_channel) == (rate, channels, rate // 100)
        assert bytes(out.data.cast("B")) == stream.process(bytes(frame.data.cast("B")))
        assert out.userdata == {"kept": True}
    assert processor.latency == stream.latency


def test_processor_begins_anew_at_another_rate(recurrent):
    processor = QseProcessor(recurrent)
    for rate in (48000, 16000):
        stream = PcmStream(recurrent, rate)
        for frame in frames(rate):
            assert bytes(processor._process(frame).data.cast("B")) == stream.process(bytes(frame.data.cast("B")))


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

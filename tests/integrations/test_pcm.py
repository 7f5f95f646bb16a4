"""Live PCM through a model that only delays, so that every sample of the output is known."""

import graphs
import numpy as np
import pytest

from qse.integrations.pcm import CODINGS, PcmStream

RATES = (8000, 11025, 16000, 22050, 24000, 32000, 44100, 48000)


def sound(rate, seconds=1.0, channels=1):
    """Tones below 3 kHz as interleaved 16-bit samples (samples, channels)."""
    time = np.arange(round(rate * seconds)) / rate
    tones = []
    for channel in range(channels):
        parts = [np.sin(2 * np.pi * f * time + channel) for f in (211, 997, 2503)]
        tones.append(sum(parts))
    return (8000 * np.stack(tones, axis=1) / 3).astype(np.int16)


def through(stream, pcm, block):
    parts = [
        stream.process(pcm[start : start + block].tobytes()) for start in range(0, len(pcm), block)
    ]
    return np.frombuffer(b"".join(parts), np.int16).reshape(-1, pcm.shape[1])


def snr(wanted, got):
    wanted = wanted.astype(float)
    got = got.astype(float)
    return 10 * np.log10(np.sum(wanted**2) / np.sum((got - wanted) ** 2).clip(1e-9))


@pytest.mark.parametrize("rate", RATES)
def test_pcm_stream_returns_as_much_as_it_takes(delay, rate):
    stream = PcmStream(delay, rate)
    rng = np.random.default_rng(0)
    for size in [1, 2, 3, rate // 100, 0, *rng.integers(1, rate // 20, 30)]:
        assert len(stream.process(bytes(2 * size))) == 2 * size


@pytest.mark.parametrize("rate", RATES)
def test_pcm_stream_latency_is_exact(delay, rate):
    pcm = sound(rate)
    stream = PcmStream(delay, rate)
    out = through(stream, pcm, rate // 50)
    assert stream.latency < 0.05 * rate
    ends = slice(rate // 10, len(pcm) - stream.latency)  # past the beginning of the tones
    assert snr(pcm[ends], out[stream.latency :][ends]) > 55


@pytest.mark.parametrize("rate", RATES)
def test_pcm_stream_block_size_changes_nothing(recurrent, rate):
    pcm = sound(rate, 0.5)
    whole = through(PcmStream(recurrent, rate), pcm, len(pcm))
    for block in (rate // 100, rate // 50 + 1):
        parts = through(PcmStream(recurrent, rate), pcm, block)
        # a position is rounded elsewhere
        assert np.abs(parts.astype(int) - whole).max() <= (0 if rate == 16000 else 1)


@pytest.mark.parametrize("rate", (8000, 16000, 44100))
@pytest.mark.parametrize("way", ["disabled", "strength 0"])
def test_pcm_stream_bypass_is_bit_exact(recurrent, rate, way):
    stream = PcmStream(recurrent, rate, strength=0 if way == "strength 0" else None)
    stream.enabled = way != "disabled"
    rng = np.random.default_rng(0)
    pcm = rng.integers(-32768, 32768, (rate, 1)).astype(np.int16)
    stream.process(bytes(2 * rate))  # the switch is over
    out = through(stream, pcm, 333)
    assert (out[stream.latency :] == pcm[: -stream.latency]).all()


def test_pcm_stream_switches_without_a_click(delay):
    rate = 16000
    stream = PcmStream(delay, 16000)
    pcm = sound(rate, 2.0)
    out = []
    for number in range(100):
        stream.enabled = number // 10 % 2 == 0
        out.append(stream.process(pcm[320 * number : 320 * number + 320].tobytes()))
    heard = np.frombuffer(b"".join(out), np.int16)[:, None]
    assert np.abs(heard[stream.latency :].astype(int) - pcm[: -stream.latency]).max() <= 1


def test_pcm_stream_attenuation_limit(fragile, delay):
    quiet = PcmStream(delay, 16000, strength=20)
    pcm = sound(16000)
    out = through(quiet, pcm, 160)
    assert np.abs(out[quiet.latency :].astype(int) - pcm[: -quiet.latency]).max() <= 1
    quiet.strength = 6
    assert quiet.strength == 6
    with pytest.raises(ValueError, match="from 0 up"):
        quiet.strength = -1


def test_pcm_stream_channels_are_independent(recurrent):
    pcm = sound(16000, 0.5, channels=2)
    both = through(PcmStream(recurrent, 16000, channels=2), pcm, 160)
    for c in (0, 1):
        one = through(PcmStream(recurrent, 16000), pcm[:, c : c + 1], 160)
        assert (both[:, c] == one[:, 0]).all()


def test_pcm_stream_clips(delay):
    stream = PcmStream(delay, 48000)
    pcm = np.tile(np.repeat(np.array([32767, -32768], np.int16), 40), 300)[:, None]
    # no sign is turned round
    assert snr(pcm[: -stream.latency], through(stream, pcm, 480)[stream.latency :]) > 5


@pytest.mark.parametrize("rate", [7999, 48001, 0, 16000.5])
def test_pcm_stream_refuses_sample_rate(delay, rate):
    with pytest.raises(ValueError, match="8000 to 48000"):
        PcmStream(delay, rate)


def test_pcm_stream_refuses_half_samples(delay):
    with pytest.raises(ValueError, match="whole number"):
        PcmStream(delay).process(b"abc")
    with pytest.raises(TypeError, match="must be bytes of 16-bit samples, not an array"):
        PcmStream(delay).process(np.zeros(4, np.int16))
    with pytest.raises(ValueError, match="2 channels"):
        PcmStream(delay, channels=2).process(b"ab")
    with pytest.raises(ValueError, match="channels"):
        PcmStream(delay, channels=0)


@pytest.mark.parametrize("rate", (8000, 16000, 44100))
@pytest.mark.parametrize("channels", (1, 2))
def test_pcm_stream_finish_returns_the_tail(recurrent, rate, channels):
    """All output but the first `latency` samples is as long as the input, and that of a stream that
    was given silence."""
    pcm = sound(rate, 0.3, channels)
    stream = PcmStream(recurrent, rate, channels)
    out = stream.process(pcm.tobytes()) + stream.finish()
    silent = np.concatenate([pcm, np.zeros((stream.latency, channels), np.int16)])
    assert out == PcmStream(recurrent, rate, channels).process(silent.tobytes())
    kept = np.frombuffer(out, np.int16).reshape(-1, channels)[stream.latency :]
    assert kept.shape == pcm.shape


def test_pcm_stream_finish_of_a_bypassed_stream_gives_the_last_samples(recurrent):
    pcm = sound(8000, 0.3)
    stream = PcmStream(recurrent, 8000, strength=0)
    out = stream.process(pcm.tobytes()) + stream.finish()
    assert out[2 * stream.latency :] == pcm.tobytes()


@pytest.mark.parametrize("coding", ("mu-law", "a-law"))
def test_pcm_stream_of_telephone_codes_equals_one_of_their_samples(recurrent, coding):
    law = CODINGS[coding]
    payload = bytes(np.random.default_rng(0).integers(0, 256, 1600, np.uint8))
    stream = PcmStream(recurrent, 8000, coding=coding)
    out = stream.process(payload) + stream.finish()
    assert len(out) == len(payload) + stream.latency

    linear = PcmStream(recurrent, 8000)
    pcm = (32768 * law.decode(payload)).astype(np.int16).tobytes()
    wanted = np.frombuffer(linear.process(pcm) + linear.finish(), np.int16)
    assert out == law.encode(wanted / 32768)


@pytest.mark.parametrize("coding", ("mu-law", "a-law"))
def test_pcm_stream_of_telephone_codes_passes_a_bypassed_call(recurrent, coding):
    payload = bytes(np.random.default_rng(0).integers(128, 256, 1600, np.uint8))
    stream = PcmStream(recurrent, 8000, strength=0, coding=coding)
    out = stream.process(payload) + stream.finish()
    assert out[stream.latency :] == payload


def test_pcm_stream_refuses_an_unknown_coding(delay):
    with pytest.raises(ValueError, match=r"linear, mu-law, a-law, not G\.722"):
        PcmStream(delay, 8000, coding="G.722")


def test_pcm_stream_uses_the_graph_for_its_sample_rate(tmp_path):
    folder = tmp_path / "both"
    graphs.delay(folder / "model.onnx")
    graphs.delay(folder / "model-48k.onnx", latency=480, sample_rate=48000, hop_length=480)
    assert PcmStream(folder, 16000).latency == 160 + 159
    full = PcmStream(folder, 48000)
    assert full.latency == 480 + 479
    # all frequencies pass
    pcm = np.random.default_rng(0).integers(-9000, 9000, (9600, 1)).astype(np.int16)
    assert (through(full, pcm, 480)[full.latency :] == pcm[: -full.latency]).all()

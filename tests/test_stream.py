"""Streams: bit-equal at every block size, aligned to the sample, harmless when the input or the model is not."""

import graphs
import numpy as np
import pytest
import soxr

from qse import Stream, denoise, load
from qse.runtime.denoise import enhance


def signal(samples: int, seed: int = 0) -> np.ndarray:
    return (0.3 * np.random.default_rng(seed).standard_normal(samples)).astype(np.float32)


def blocks(audio: np.ndarray, size: int) -> list[np.ndarray]:
    """Cut into blocks of `size`; 0 for random sizes from 0 to 700."""
    cuts = np.random.default_rng(1).integers(0, 700, 100).cumsum() if size == 0 else np.arange(size, len(audio), size)
    return np.split(audio, cuts[cuts < len(audio)])


def whole(engine, audio: np.ndarray) -> np.ndarray:
    """What the engine makes of the audio, hop by hop from silence, with nothing of Stream involved."""
    state, out = engine.initial_state(), [audio[:0]]
    for hop in np.pad(audio, (0, -len(audio) % engine.hop_length)).reshape(-1, engine.hop_length):
        enhanced, state = engine.step(hop, state)
        out.append(enhanced)
    return np.concatenate(out)


SIZES = (1, 64, 100, 160, 441, 480, 512)


@pytest.mark.parametrize("size, told", [*((size, True) for size in SIZES), *((size, False) for size in (*SIZES, 0))])
def test_every_block_size_gives_the_same_bits(recurrent, size, told):
    audio = signal(160 * 441 // 7)
    stream = Stream(recurrent, size if told else None)
    heard = audio[: len(audio) // size * size] if told else audio
    out = np.concatenate([stream.process(block) for block in blocks(heard, size)])
    np.testing.assert_array_equal(out[: stream.latency], 0)
    np.testing.assert_array_equal(out[stream.latency :], whole(recurrent, audio)[: len(out) - stream.latency])


@pytest.mark.parametrize("size, added", [(None, 159), (1, 159), (64, 128), (100, 140), (160, 0), (480, 0), (512, 128)])
def test_latency_is_the_least_that_the_block_size_allows(delay, size, added):
    stream = Stream(delay, size)
    assert stream.latency == delay.latency + added
    audio = signal(160 * 64)
    cut = size or 77
    out = np.concatenate([stream.process(b) for b in blocks(audio[: len(audio) // cut * cut], cut)])
    np.testing.assert_array_equal(out[stream.latency :], audio[: len(out) - stream.latency])


@pytest.mark.parametrize("blocksize", [None, 40, 160, 200, 400])
@pytest.mark.parametrize("latency", [0, 120, 200])
def test_what_is_inside_at_the_end_comes_whole(tmp_path, blocksize, latency):
    engine = load(graphs.delay(tmp_path / "x" / "model.onnx", latency, hop_length=200))
    stream, audio = Stream(engine, blocksize), signal(2000)
    heard = np.concatenate([*(stream.process(block) for block in blocks(audio, blocksize or 123)), stream.finish()])
    np.testing.assert_array_equal(heard[stream.latency :], audio)


def test_a_block_of_the_wrong_length_or_shape_is_refused(delay):
    with pytest.raises(ValueError, match="multiple of 160"):
        Stream(delay, 160).process(np.zeros(100, np.float32))
    with pytest.raises(ValueError, match=r"\(160, 2\)"):
        Stream(delay).process(np.zeros((160, 2), np.float32))
    with pytest.raises(TypeError, match="int16"):
        Stream(delay).process(np.zeros(160, np.int16))


def test_streams_of_one_engine_do_not_touch(recurrent):
    one, other = signal(1600, 1), signal(1600, 2)
    a, b = Stream(recurrent, 160), Stream(recurrent, 160)
    out = [(a.process(x), b.process(y)) for x, y in zip(blocks(one, 160), blocks(other, 160), strict=True)]
    np.testing.assert_array_equal(np.concatenate([x for x, _ in out]), whole(recurrent, one))
    np.testing.assert_array_equal(np.concatenate([y for _, y in out]), whole(recurrent, other))


def test_strength_mixes_the_delayed_input_back(recurrent, delay):
    audio = signal(1600)
    enhanced = whole(recurrent, audio)
    half = Stream(recurrent, 160, strength=20 * np.log10(2)).process(audio)
    np.testing.assert_allclose(half, (enhanced + audio) / 2, atol=1e-7)
    np.testing.assert_array_equal(Stream(recurrent, 160, strength=0).process(audio), audio)
    np.testing.assert_array_equal(Stream(recurrent, 160, strength=float("inf")).process(audio), enhanced)
    np.testing.assert_array_equal(Stream(delay, 160, strength=6).process(audio)[160:], audio[:-160])
    with pytest.raises(ValueError, match="from 0 up"):
        Stream(delay, strength=-1)


def test_strength_holds_above_the_band_of_the_model(recurrent):
    audio = signal(48000)
    np.testing.assert_array_equal(denoise(audio, 48000, recurrent, strength=0), audio)
    out, of = (np.linalg.norm(np.fft.rfft(x)[9000:]) for x in (denoise(audio, 48000, recurrent, strength=12), audio))
    assert out / of == pytest.approx(10 ** (-12 / 20), rel=0.01)  # bins of 1 Hz


def test_strength_may_change_while_running(recurrent):
    audio = signal(480)
    stream = Stream(recurrent, 160)
    first = stream.process(audio[:160])
    stream.strength = 0
    second = stream.process(audio[160:320])
    stream.strength = None
    third = stream.process(audio[320:])
    expected = whole(recurrent, audio)
    expected[160:320] = audio[160:320]
    np.testing.assert_array_equal(np.concatenate([first, second, third]), expected)


def test_input_that_is_not_finite_counts_as_silence(recurrent):
    audio = signal(1600)
    broken, mended = audio.copy(), audio.copy()
    broken[[3, 700, 701]], mended[[3, 700, 701]] = [np.nan, np.inf, -np.inf], 0
    np.testing.assert_array_equal(Stream(recurrent, 160).process(broken), whole(recurrent, mended))


def test_a_model_that_breaks_down_is_silent_for_a_hop_and_starts_anew(fragile):
    audio = np.full(160 * 5, 0.4, np.float32)  # the sum passes 1 in the third hop
    stream = Stream(fragile, 160)
    out = stream.process(audio).reshape(5, 160)
    np.testing.assert_array_equal(out[:, 0], np.float32([0.4, 0.4, 0, 0.4, 0.4]))
    assert np.isfinite(out).all() and stream.resets == 1
    assert np.isnan(whole(fragile, audio)[-160:]).all()  # what the graph does when left alone


@pytest.mark.parametrize("samples", [0, 1, 159, 160, 161, 70000])
def test_denoise_is_the_stream_with_its_latency_cut_off(recurrent, delay, samples):
    audio = signal(samples)
    np.testing.assert_array_equal(denoise(audio, 16000, delay), audio)
    np.testing.assert_array_equal(denoise(audio, 16000, recurrent), whole(recurrent, audio)[:samples])


@pytest.mark.parametrize("sample_rate", [8000, 11025, 44100, 48000, 96000])
@pytest.mark.parametrize("samples", [1, 1000, 44101])
def test_any_rate_keeps_length_and_alignment(delay, sample_rate, samples):
    narrow = soxr.resample(signal(samples), 6000, sample_rate)[:samples]  # nothing above 3 kHz
    out = denoise(narrow, sample_rate, delay)
    assert out.shape == narrow.shape
    if samples > 40000:
        np.testing.assert_allclose(out[2000:-2000], narrow[2000:-2000], atol=1e-3)


@pytest.mark.parametrize("sample_rate", [16000, 44100])
def test_cutting_the_file_elsewhere_changes_nothing(recurrent, sample_rate):
    audio = signal(30000)[:, None]
    one = np.concatenate(list(enhance([audio], sample_rate, recurrent)))
    many = np.concatenate(list(enhance(blocks(audio, 0), sample_rate, recurrent)))
    np.testing.assert_array_equal(many, one)


def test_channels_are_enhanced_each_by_itself(recurrent):
    audio = np.stack([signal(5000, 1), signal(5000, 2)], axis=1)
    out = denoise(audio, 16000, recurrent)
    for channel in (0, 1):
        np.testing.assert_array_equal(out[:, channel], denoise(audio[:, channel], 16000, recurrent))


def test_denoise_keeps_the_dtype_and_refuses_what_is_no_audio(delay):
    assert denoise(signal(10).astype(np.float64), 16000, delay).dtype == np.float64
    with pytest.raises(TypeError, match="int16"):
        denoise(np.zeros(10, np.int16), 16000, delay)
    with pytest.raises(ValueError, match="shape"):
        denoise(np.zeros((1, 2, 3), np.float32), 16000, delay)
    for shape in ((2, 4000), (5, 0)):
        with pytest.raises(ValueError, match="channels: is it"):
            denoise(np.zeros(shape, np.float32), 16000, delay)
    with pytest.raises(ValueError, match="2 samples are NaN"):
        denoise(np.float32([0, np.nan, np.inf]), 16000, delay)
    for sample_rate in (0, 44.1, 999, float("nan"), float("inf")):
        with pytest.raises(ValueError, match=f"sample_rate {sample_rate}: it counts in Hz, at least 1000"):
            denoise(signal(10), sample_rate, delay)
    with pytest.raises(ValueError, match="samples of 32767, where full scale is 1"):
        denoise(np.float64([0, -32767]), 16000, delay)


def test_a_stream_takes_a_model_by_its_name_too(models, recurrent):
    audio = signal(1000)
    np.testing.assert_array_equal(Stream("recurrent").process(audio), Stream(recurrent).process(audio))
    with pytest.raises(ValueError, match="blocksize 0: at least one sample"):
        Stream(recurrent, 0)

"""Streams: bit-equal at every block size, aligned to the sample, harmless when the input or the
model is not."""

import graphs
import numpy as np
import pytest
import soxr

from qse import Stream, denoise, load
from qse.runtime.denoise import enhance
from qse.runtime.stream import HopStream
from qse.runtime.zoo import streaming


def signal(samples: int, seed: int = 0) -> np.ndarray:
    return (0.3 * np.random.default_rng(seed).standard_normal(samples)).astype(np.float32)


def blocks(audio: np.ndarray, size: int) -> list[np.ndarray]:
    """Cut into blocks of `size`; 0 for random sizes from 0 to 700."""
    cuts = (
        np.random.default_rng(1).integers(0, 700, 100).cumsum()
        if size == 0
        else np.arange(size, len(audio), size)
    )
    return np.split(audio, cuts[cuts < len(audio)])


def whole(engine, audio: np.ndarray) -> np.ndarray:
    """Return the output of the engine alone, hop by hop from zero state, without Stream."""
    state = engine.initial_state()
    out = [audio[:0]]
    for hop in np.pad(audio, (0, -len(audio) % engine.hop_length)).reshape(-1, engine.hop_length):
        enhanced, state = engine.step(hop, state)
        out.append(enhanced)
    return np.concatenate(out)


SIZES = (1, 64, 100, 160, 441, 480, 512)


@pytest.mark.parametrize(
    "size, told", [*((size, True) for size in SIZES), *((size, False) for size in (*SIZES, 0))]
)
def test_stream_equal_at_every_block_size(recurrent, size, told):
    audio = signal(160 * 441 // 7)
    stream = Stream(recurrent, blocksize=size if told else None)
    heard = audio[: len(audio) // size * size] if told else audio
    out = np.concatenate([stream.process(block) for block in blocks(heard, size)])
    np.testing.assert_array_equal(out[: stream.latency], 0)
    np.testing.assert_array_equal(
        out[stream.latency :], whole(recurrent, audio)[: len(out) - stream.latency]
    )


@pytest.mark.parametrize(
    "size, added", [(None, 159), (1, 159), (64, 128), (100, 140), (160, 0), (480, 0), (512, 128)]
)
def test_stream_latency_is_the_least_possible(delay, size, added):
    stream = Stream(delay, blocksize=size)
    assert stream.latency == delay.latency + added
    audio = signal(160 * 64)
    cut = size or 77
    out = np.concatenate([stream.process(b) for b in blocks(audio[: len(audio) // cut * cut], cut)])
    np.testing.assert_array_equal(out[stream.latency :], audio[: len(out) - stream.latency])


@pytest.mark.parametrize("blocksize", [None, 40, 160, 200, 400])
@pytest.mark.parametrize("latency", [0, 120, 200])
def test_stream_finish_returns_the_rest(tmp_path, blocksize, latency):
    engine = load(graphs.delay(tmp_path / "x" / "model.onnx", latency, hop_length=200))
    stream = Stream(engine, blocksize=blocksize)
    audio = signal(2000)
    heard = np.concatenate(
        [*(stream.process(block) for block in blocks(audio, blocksize or 123)), stream.finish()]
    )
    np.testing.assert_array_equal(heard[stream.latency :], audio)


def test_stream_refuses_wrong_blocks(delay):
    with pytest.raises(ValueError, match="multiple of 160"):
        Stream(delay, blocksize=160).process(np.zeros(100, np.float32))
    with pytest.raises(ValueError, match=r"\(160, 2\)"):
        Stream(delay).process(np.zeros((160, 2), np.float32))
    with pytest.raises(TypeError, match="int16"):
        Stream(delay).process(np.zeros(160, np.int16))


def test_streams_of_one_engine_are_independent(recurrent):
    one = signal(1600, 1)
    other = signal(1600, 2)
    a = Stream(recurrent, blocksize=160)
    b = Stream(recurrent, blocksize=160)
    out = [
        (a.process(x), b.process(y))
        for x, y in zip(blocks(one, 160), blocks(other, 160), strict=True)
    ]
    np.testing.assert_array_equal(np.concatenate([x for x, _ in out]), whole(recurrent, one))
    np.testing.assert_array_equal(np.concatenate([y for _, y in out]), whole(recurrent, other))


def test_stream_strength_mixes_the_delayed_input(recurrent, delay):
    audio = signal(1600)
    enhanced = whole(recurrent, audio)
    half = Stream(recurrent, blocksize=160, strength=20 * np.log10(2)).process(audio)
    np.testing.assert_allclose(half, (enhanced + audio) / 2, atol=1e-7)
    np.testing.assert_array_equal(
        Stream(recurrent, blocksize=160, strength=0).process(audio), audio
    )
    np.testing.assert_array_equal(
        Stream(recurrent, blocksize=160, strength=float("inf")).process(audio), enhanced
    )
    np.testing.assert_array_equal(
        Stream(delay, blocksize=160, strength=6).process(audio)[160:], audio[:-160]
    )
    with pytest.raises(ValueError, match="from 0 up"):
        Stream(delay, strength=-1)


def test_denoise_strength_above_the_band_of_the_model(recurrent):
    audio = signal(48000)
    np.testing.assert_array_equal(denoise(audio, 48000, recurrent, strength=0), audio)
    out = np.linalg.norm(np.fft.rfft(denoise(audio, 48000, recurrent, strength=12))[9000:])
    of = np.linalg.norm(np.fft.rfft(audio)[9000:])
    assert out / of == pytest.approx(10 ** (-12 / 20), rel=0.01)  # bins of 1 Hz


def test_stream_strength_may_change(recurrent):
    audio = signal(480)
    stream = Stream(recurrent, blocksize=160)
    first = stream.process(audio[:160])
    stream.strength = 0
    second = stream.process(audio[160:320])
    stream.strength = None
    third = stream.process(audio[320:])
    expected = whole(recurrent, audio)
    expected[160:320] = audio[160:320]
    np.testing.assert_array_equal(np.concatenate([first, second, third]), expected)


def test_stream_counts_nan_as_silence(recurrent):
    audio = signal(1600)
    broken = audio.copy()
    mended = audio.copy()
    broken[[3, 700, 701]] = [np.nan, np.inf, -np.inf]
    mended[[3, 700, 701]] = 0
    np.testing.assert_array_equal(
        Stream(recurrent, blocksize=160).process(broken), whole(recurrent, mended)
    )


def test_stream_resets_a_model_that_breaks(fragile):
    audio = np.full(160 * 5, 0.4, np.float32)  # the sum passes 1 in the third hop
    stream = Stream(fragile, blocksize=160)
    out = stream.process(audio).reshape(5, 160)
    np.testing.assert_array_equal(out[:, 0], np.float32([0.4, 0.4, 0, 0.4, 0.4]))
    assert np.isfinite(out).all() and stream.resets == 1
    assert np.isnan(whole(fragile, audio)[-160:]).all()  # what the graph does when left alone


@pytest.mark.parametrize("samples", [0, 1, 159, 160, 161, 70000])
def test_denoise_is_the_stream_without_latency(recurrent, delay, samples):
    audio = signal(samples)
    np.testing.assert_array_equal(denoise(audio, 16000, delay), audio)
    np.testing.assert_array_equal(
        denoise(audio, 16000, recurrent), whole(recurrent, audio)[:samples]
    )


@pytest.mark.parametrize("sample_rate", [8000, 11025, 44100, 48000, 96000])
@pytest.mark.parametrize("samples", [1, 1000, 44101])
def test_denoise_any_rate_keeps_length_and_alignment(delay, sample_rate, samples):
    narrow = soxr.resample(signal(samples), 6000, sample_rate)[:samples]  # nothing above 3 kHz
    out = denoise(narrow, sample_rate, delay)
    assert out.shape == narrow.shape
    if samples > 40000:
        np.testing.assert_allclose(out[2000:-2000], narrow[2000:-2000], atol=1e-3)


@pytest.mark.parametrize("sample_rate", [16000, 44100])
def test_enhance_is_independent_of_block_sizes(recurrent, sample_rate):
    audio = signal(30000)[:, None]
    one = np.concatenate(list(enhance([audio], sample_rate, recurrent)))
    many = np.concatenate(list(enhance(blocks(audio, 0), sample_rate, recurrent)))
    np.testing.assert_array_equal(many, one)


def test_denoise_channels_are_independent(recurrent):
    audio = np.stack([signal(5000, 1), signal(5000, 2)], axis=1)
    out = denoise(audio, 16000, recurrent)
    for channel in (0, 1):
        np.testing.assert_array_equal(out[:, channel], denoise(audio[:, channel], 16000, recurrent))


def test_denoise_keeps_dtype_and_refuses_bad_arrays(delay):
    assert denoise(signal(10).astype(np.float64), 16000, delay).dtype == np.float64
    with pytest.raises(TypeError, match="int16"):
        denoise(np.zeros(10, np.int16), 16000, delay)
    with pytest.raises(ValueError, match="shape"):
        denoise(np.zeros((1, 2, 3), np.float32), 16000, delay)
    for shape in ((2, 4000), (5, 0)):
        with pytest.raises(ValueError, match="channels: is it"):
            denoise(np.zeros(shape, np.float32), 16000, delay)
    with pytest.raises(ValueError, match="NaN or infinite, 2 in all"):
        denoise(np.float32([0, np.nan, np.inf]), 16000, delay)
    for sample_rate in (0, 44.1, 999, float("nan"), float("inf")):
        with pytest.raises(
            ValueError, match=f"sample_rate must be from 1000 to 10000000 Hz, not {sample_rate}"
        ):
            denoise(signal(10), sample_rate, delay)
    with pytest.raises(ValueError, match="samples of 32767, where full scale is 1"):
        denoise(np.float64([0, -32767]), 16000, delay)


def test_stream_takes_a_name(models, recurrent):
    audio = signal(1000)
    np.testing.assert_array_equal(
        Stream("recurrent").process(audio), Stream(recurrent).process(audio)
    )
    with pytest.raises(ValueError, match="blocksize must be at least 1 sample"):
        Stream(recurrent, blocksize=0)


@pytest.mark.parametrize("sizes", [(1, 159, 160, 7, 313), (640,), (160, 160, 160, 160)])
def test_hop_stream_yields_hops_with_the_aligned_noisy_signal(recurrent, sizes):
    audio = signal(sum(sizes))
    hops = []
    stream = HopStream(recurrent)
    start = 0
    for size in sizes:
        hops += [(a.copy(), b.copy()) for a, b in stream.hops(audio[start : start + size])]
        start += size
    enhanced, noisy = (np.concatenate(side) for side in zip(*hops, strict=True))
    np.testing.assert_array_equal(enhanced, whole(recurrent, audio)[: len(enhanced)])
    np.testing.assert_array_equal(
        noisy[recurrent.latency :], audio[: len(noisy) - recurrent.latency]
    )
    assert stream.missing == 160 - sum(sizes) % 160


def test_hop_stream_glides_to_a_new_noisy_share(recurrent):
    audio = signal(160)
    stream = HopStream(recurrent, noisy_share=0.25, glide=0.25)
    plain = HopStream(recurrent)
    for share in (0.25, 0.5, 0.75, 1.0, 1.0):
        ((mixed, noisy),) = list(stream.hops(audio))
        ((enhanced, _),) = list(plain.hops(audio))
        np.testing.assert_array_equal(
            mixed, (1 - np.float32(share)) * enhanced + np.float32(share) * noisy
        )
        stream.noisy_share = 1.0


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda x, e: denoise(16000, x, e), "sample_rate must be a number in Hz, not ndarray"),
        (lambda x, e: denoise(x, "16000", e), "sample_rate must be a number in Hz, not str"),
        (lambda x, e: denoise("a.wav", 16000, e), "audio must hold floats"),
        (
            lambda x, e: denoise(x, 16000, e, strength="12"),
            "strength must be a number of dB or None, not str",
        ),
        (
            lambda x, e: denoise(x, 16000, 5),
            "model must be a name, a path or what qse.load returns, not int",
        ),
        (lambda x, e: Stream(e, blocksize="480"), "blocksize must be a number of samples"),
        (lambda x, e: Stream(e, blocksize=480.0), "blocksize must be a number of samples"),
        (
            lambda x, e: Stream(e).process(x.astype(np.int16)),
            "block must hold floats in .* not int16",
        ),
    ],
)
def test_type_errors_name_the_argument(delay, call, words):
    with pytest.raises(TypeError, match=words):
        call(signal(160), delay)


def test_stream_explains_the_lengths_that_blocksize_allows(delay):
    with pytest.raises(
        ValueError, match=r"479 samples .*blocksize=480 .*hop of 160 .*multiple of 160 .*divisor"
    ):
        Stream(delay, blocksize=480).process(np.zeros(479, np.float32))
    assert "one thread at a time" in Stream.__doc__


def test_an_engine_can_stream(recurrent):
    assert streaming(recurrent) is recurrent


def test_overlapping_calls_are_refused():
    """Two threads in one stream mixed their blocks."""
    stream = Stream("live-tiny")
    with stream._free, pytest.raises(RuntimeError, match="in use by another thread"):
        stream.process(np.zeros(480, np.float32))
    assert len(stream.process(np.zeros(480, np.float32))) == 480


def test_masked_arrays_are_refused():
    with pytest.raises(TypeError, match="masked array: fill its gaps first"):
        Stream("live-tiny").process(np.ma.masked_array(np.zeros(480, np.float32), mask=True))


def test_tensors_that_are_no_arrays_are_refused_in_a_sentence(delay):
    torch = pytest.importorskip("torch")
    for tensor in (torch.zeros(160).bfloat16(), torch.zeros(160).requires_grad_()):
        with pytest.raises(TypeError, match="audio is no array of samples, but Tensor: convert it"):
            denoise(tensor, 16000, delay)

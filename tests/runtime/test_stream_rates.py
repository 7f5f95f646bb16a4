"""Streams at other sample rates than the model's, and the graph that a sample rate decides on."""

import pickle

import graphs
import numpy as np
import pytest

from qse import Stream, denoise, load
from qse.runtime.zoo import resolve

RATES = (1000, 8000, 11025, 12000, 22050, 44100, 48000, 96000)


@pytest.fixture
def banded(tmp_path, monkeypatch):
    """A model "both" with a graph for 16 kHz and one for 48 kHz; its folder."""
    monkeypatch.setenv("QSE_MODELS", str(tmp_path))
    graphs.delay(tmp_path / "both" / "model.onnx")
    wide = {"latency": 480, "sample_rate": 48000, "hop_length": 480}
    graphs.delay(tmp_path / "both" / "model-48k.onnx", **wide)
    return tmp_path / "both"


def hiss(samples: int, seed: int = 0) -> np.ndarray:
    return (0.3 * np.random.default_rng(seed).standard_normal(samples)).astype(np.float32)


def tones(rate: int, seconds: float = 1.0) -> np.ndarray:
    time = np.arange(round(rate * seconds)) / rate
    return sum(
        np.sin(2 * np.pi * tone * time) / 6 for tone in (0.03 * rate, 97, 0.1 * min(rate, 16000))
    )


def through(stream: Stream, audio: np.ndarray, size: int) -> np.ndarray:
    parts = [stream.process(audio[start : start + size]) for start in range(0, len(audio), size)]
    return np.concatenate([*parts, stream.finish()])


@pytest.mark.parametrize("rate", RATES)
def test_stream_at_any_rate_has_an_exact_latency(delay, rate):
    stream = Stream(delay, rate)
    audio = tones(rate)
    assert stream.sample_rate == rate and stream.engine.sample_rate == 16000
    out = through(stream, audio, rate // 50)
    assert out.dtype == np.float32 and len(out) == len(audio) + stream.latency
    ends = slice(rate // 5, len(audio) - rate // 10)
    error = out[stream.latency :][ends] - audio[ends]
    assert np.std(error) < 1e-3 * np.std(audio)


@pytest.mark.parametrize("rate", RATES)
def test_stream_at_any_rate_returns_as_much_as_it_takes(delay, rate):
    stream = Stream(delay, rate)
    for size in [1, 2, 3, 0, *np.random.default_rng(0).integers(1, 700, 100)]:
        assert len(stream.process(hiss(size))) == size


@pytest.mark.parametrize("rate", [8000, 44100])
def test_stream_at_another_rate_mixes_the_full_band(recurrent, rate):
    audio = hiss(rate)
    stream = Stream(recurrent, rate, strength=0)
    out = through(stream, audio, 441)
    np.testing.assert_array_equal(out[stream.latency :], audio)
    enhanced = through(Stream(recurrent, rate), audio, 441)
    half = through(Stream(recurrent, rate, strength=20 * np.log10(2)), audio, 441)
    delayed = np.pad(audio, (stream.latency, 0))
    np.testing.assert_allclose(half, (enhanced + delayed) / 2, atol=1e-6)


def test_stream_at_another_rate_counts_nan_as_silence(recurrent):
    broken = hiss(8000)
    mended = hiss(8000)
    broken[[3, 700, 701]] = [np.nan, np.inf, -np.inf]
    mended[[3, 700, 701]] = 0
    out = through(Stream(recurrent, 48000, strength=12), broken, 480)
    np.testing.assert_array_equal(out, through(Stream(recurrent, 48000, strength=12), mended, 480))


def test_stream_at_the_rate_of_the_model_converts_nothing(recurrent):
    audio = hiss(3000)
    for size in (None, 100):
        told = Stream(recurrent, recurrent.sample_rate, size)
        untold = Stream(recurrent, blocksize=size)
        assert told.latency == untold.latency and untold.sample_rate == 16000
        np.testing.assert_array_equal(through(told, audio, 100), through(untold, audio, 100))


@pytest.mark.parametrize(
    "rate, graph", [(None, 16000), (8000, 16000), (22050, 48000), (48000, 48000)]
)
@pytest.mark.parametrize("kind", ["name", "folder", "wide", "full"])
def test_stream_takes_the_graph_for_its_rate(banded, kind, rate, graph):
    model = {"name": "both", "folder": banded}.get(kind) or load("both", sample_rate=16000)
    if kind == "full":
        model = load("both", sample_rate=48000)
    stream = Stream(model, rate)
    own = 48000 if kind == "full" else 16000  # of a loaded model, where no rate is given
    assert stream.engine.sample_rate == (graph if rate else own)
    assert stream.sample_rate == (rate or own)
    assert "16 kHz" in Stream.__init__.__doc__


@pytest.mark.parametrize("rate", [8000, 16000, 44100, 48000])
@pytest.mark.parametrize("loaded_at", [16000, 48000])
def test_denoise_by_name_and_by_engine_are_the_same(banded, rate, loaded_at):
    audio = hiss(rate)
    engine = load("both", sample_rate=loaded_at)
    by_name = denoise(audio, rate, "both")
    np.testing.assert_array_equal(denoise(audio, rate, engine), by_name)
    np.testing.assert_array_equal(denoise(audio, rate, pickle.loads(pickle.dumps(engine))), by_name)
    if rate == 48000:
        np.testing.assert_array_equal(by_name, audio)  # the full band, which 16 kHz does not hold


def test_sister_graph_is_loaded_once(banded):
    engine = load("both", flush_to_zero=False, threads=2)
    full = Stream(engine, 48000).engine
    assert full is Stream(engine, 44100).engine is resolve(engine, 48000)
    assert full.options == engine.options and engine.options["threads"] == 2


def test_graph_given_by_its_path_is_used_at_every_rate(banded):
    engine = load(banded / "model.onnx")
    assert Stream(engine, 48000).engine is engine
    audio = hiss(4800)
    out = denoise(audio, 48000, engine)
    np.testing.assert_array_equal(out, denoise(audio, 48000, banded / "model.onnx"))
    assert np.abs(out - audio).max() > 0.1  # without what lies above 8 kHz


def test_model_without_its_folder_stays_as_it_is(banded):
    engine = load("both")
    (banded / "model-48k.onnx").unlink()
    assert Stream(engine, 48000).engine is engine


def test_stream_refuses_sample_rates(delay):
    for rate in (0, 480, -16000, float("nan"), float("inf")):
        with pytest.raises(
            ValueError,
            match=f"from 1000 to 10000000 Hz, not {rate}; a block's length is given by name",
        ):
            Stream(delay, rate)
    with pytest.raises(TypeError, match="sample_rate must be a number in Hz or None, not str"):
        Stream(delay, "48000")


def test_denoise_takes_a_model_of_ones_own(delay):
    class Own:
        """Hold what `enhance` needs, and nothing that `load` adds."""

        sample_rate = 16000
        streams = True
        name = "own"

        def open_channel(self):
            return Stream(delay)

    audio = hiss(4800)
    np.testing.assert_array_equal(denoise(audio, 48000, Own()), denoise(audio, 48000, delay))

"""Models on two grids of frames: the mean of two runs, the faster form, refusals."""

import pickle

import graphs
import numpy as np
import pytest

import qse
from qse import Engine, QseError, Stream, load
from qse.runtime.bands import BandModels

SHIFT = 50


@pytest.fixture
def model(tmp_path):
    return graphs.recurrent(tmp_path / "two" / "model.onnx", second_grid=SHIFT)


def noise(samples: int) -> np.ndarray:
    return (0.3 * np.random.default_rng(0).standard_normal(samples)).astype(np.float32)


def along(engine: Engine, signal: np.ndarray) -> np.ndarray:
    session = engine.session()
    hops = signal.reshape(-1, engine.hop_length)
    return np.concatenate([session.step(hop).copy() for hop in hops])


def test_the_output_is_the_mean_of_runs_on_the_signal_and_on_a_shifted_one(model):
    signal = noise(20 * graphs.HOP)
    one = Engine(model, fast=True)
    shifted = np.concatenate([np.zeros(SHIFT, np.float32), signal])[: len(signal)]
    first = np.concatenate([np.zeros(SHIFT, np.float32), along(one, signal)])[: len(signal)]
    expected = (first + along(one, shifted)) / 2
    np.testing.assert_array_equal(along(Engine(model), signal), expected)
    assert not np.array_equal(expected, along(one, signal))


def test_the_second_grid_adds_its_distance_to_the_latency(model):
    assert Engine(model).latency == Engine(model, fast=True).latency + SHIFT
    assert (Engine(model).second_grid, Engine(model, fast=True).second_grid) == (SHIFT, 0)


def test_grids_half_a_hop_apart_take_turns(tmp_path):
    half = graphs.HOP // 2
    path = graphs.recurrent(tmp_path / "turns" / "model.onnx", second_grid=half)
    engine = Engine(path)
    assert (engine.hop_length, engine.graph_hop_length) == (half, graphs.HOP)
    signal = noise(20 * graphs.HOP)
    one = Engine(path, fast=True)
    silence = np.zeros(half, np.float32)
    late = along(one, np.concatenate([silence, signal, silence]))[: len(signal)]
    first = np.concatenate([silence, along(one, signal)])[: len(signal)]
    np.testing.assert_array_equal(along(engine, signal), (first + late) / 2)


@pytest.mark.parametrize("shift", [SHIFT, graphs.HOP // 2])
def test_a_reset_session_begins_again(tmp_path, shift):
    model = graphs.recurrent(tmp_path / "two" / "model.onnx", second_grid=shift)
    session = Engine(model).session()
    hop = noise(Engine(model).hop_length)
    first = session.step(hop).copy()
    session.step(hop)
    session.reset()
    np.testing.assert_array_equal(session.step(hop), first)


@pytest.mark.parametrize("fast", [False, True])
def test_a_file_is_a_stream_without_its_latency_at_every_block_size(model, fast):
    engine = load(model, fast=fast)
    noisy = noise(3000)
    expected = qse.denoise(noisy, 16000, engine)
    for size in (37, 160, 1000):
        stream = Stream(engine)
        padded = np.concatenate([noisy, np.zeros(stream.latency, np.float32)])
        blocks = [stream.process(padded[at : at + size]) for at in range(0, len(padded), size)]
        np.testing.assert_array_equal(np.concatenate(blocks)[stream.latency :], expected)


def test_every_way_to_ask_for_the_faster_form_gives_it(model):
    noisy = noise(3000)
    expected = qse.denoise(noisy, 16000, load(model, fast=True))
    assert not np.array_equal(expected, qse.denoise(noisy, 16000, model))
    np.testing.assert_array_equal(qse.denoise(noisy, 16000, model, fast=True), expected)
    for engine in (
        BandModels(model, fast=True).at(16000),
        pickle.loads(pickle.dumps(load(model, fast=True))),
    ):
        np.testing.assert_array_equal(qse.denoise(noisy, 16000, engine), expected)


def test_the_sister_graph_of_a_fast_model_is_fast(tmp_path):
    folder = tmp_path / "both"
    for name, rate in (("model.onnx", 16000), ("model-48k.onnx", 48000)):
        graphs.recurrent(folder / name, second_grid=SHIFT, sample_rate=rate)
    fast = load(folder, fast=True)
    noisy = noise(4800)
    expected = qse.denoise(noisy, 48000, load(folder, sample_rate=48000, fast=True))
    np.testing.assert_array_equal(qse.denoise(noisy, 48000, fast), expected)


def test_a_loaded_model_stays_as_fast_as_it_is(model):
    with pytest.raises(ValueError, match=r"fast=True goes with a model's name"):
        qse.denoise(noise(3000), 16000, load(model), fast=True)
    qse.denoise(noise(3000), 16000, load(model, fast=True), fast=True)


def test_a_model_of_one_grid_has_no_faster_form(tmp_path):
    path = graphs.delay(tmp_path / "one" / "model.onnx")
    with pytest.raises(QseError, match="one has no faster form: leave fast=True out"):
        load(path, fast=True)


@pytest.mark.parametrize("shift", ["161", "-1", "0", "x", "1e3"])
def test_a_second_grid_out_of_range_is_refused(tmp_path, shift):
    path = graphs.delay(tmp_path / "odd" / "model.onnx", second_grid=shift)
    with pytest.raises(QseError, match="not a streaming model"):
        Engine(path)

"""Many streams in one call against streams of their own."""

import threading
from pathlib import Path

import graphs
import numpy as np
import pytest
import soundfile

import qse
from qse.integrations.stream_group import StreamGroup

ROOT = Path(__file__).parents[2]
RELEASED = "live-tiny"


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """A folder of models that have a graph of one stream and one of many."""
    folder = tmp_path_factory.mktemp("several")
    for name, make in (("recurrent", graphs.recurrent), ("fragile", graphs.fragile)):
        make(folder / name / "model.onnx")
        make(folder / name / "model-streams.onnx", many=True)
    return folder


def sound(seconds, rate, seed):
    return (0.2 * np.random.default_rng(seed).standard_normal(round(seconds * rate))).astype("f4")


def cut(signal, size):
    return np.split(signal, range(size, len(signal), size))


def through(group, stream, signal, size):
    """Enhance a signal alone, and flush: the output without the latency."""
    parts = [group.process({stream: block})[stream] for block in cut(signal, size)]
    return np.concatenate([*parts, group.finish(stream)])[stream.latency :]


def alone(model, rate, blocks):
    """The output of a stream of its own for the same blocks, by which conversions round."""
    stream = qse.Stream(model, rate)
    return np.concatenate([*map(stream.process, blocks), stream.finish()])


@pytest.mark.parametrize("rate", [8000, 16000, 44100])
def test_group_of_one_equals_a_stream(several, rate):
    model = several / "recurrent"
    signal = sound(0.4, rate, 0)
    group = StreamGroup(model)
    stream = group.open(rate)
    assert stream.latency == qse.Stream(qse.load(model), rate).latency
    enhanced = through(group, stream, signal, rate // 50)
    assert len(enhanced) == len(signal)
    wanted = alone(qse.load(model), rate, cut(signal, rate // 50))
    assert np.abs(enhanced - wanted[stream.latency :]).max() <= 1e-6


def random_traffic(group, streams, signals, seed):
    """Enhance signals in random blocks; each begins and ends at a time of its own, some without a
    block in between. Return the blocks of each stream and what came of them."""
    rng = np.random.default_rng(seed)
    at = dict.fromkeys(streams, 0)
    taken = {stream: [] for stream in streams}
    parts = {stream: [] for stream in streams}
    begins = dict(zip(streams, rng.integers(0, 12, len(streams)), strict=True))
    turn = 0
    while any(at[stream] < len(signals[stream]) for stream in streams):
        blocks = {}
        for stream in streams:
            if turn >= begins[stream] and rng.random() < 0.8:
                size = int(rng.integers(0, 500))
                blocks[stream] = signals[stream][at[stream] : at[stream] + size]
                at[stream] += size
        enhanced = group.process(blocks)
        assert enhanced.keys() == blocks.keys()
        for stream, block in blocks.items():
            assert enhanced[stream].shape == block.shape and enhanced[stream].dtype == np.float32
            taken[stream].append(block)
            parts[stream].append(enhanced[stream])
        turn += 1
    return taken, {stream: np.concatenate(parts[stream]) for stream in streams}


@pytest.mark.parametrize("most", [1, 3, 32])
def test_group_streams_join_and_leave_at_any_hop(several, most):
    group = StreamGroup(several / "recurrent", most=most)
    rates = [8000, 16000, 16000, 16000, 16000, 22050, 16000, 8000]
    streams = [group.open(rate) for rate in rates]
    signals = {}
    for number, stream in enumerate(streams):
        signals[stream] = sound(0.1 + 0.05 * number, stream.sample_rate, number)
    blocks, enhanced = random_traffic(group, streams, signals, seed=most)
    engine = qse.load(several / "recurrent")
    for stream in streams:
        wanted = alone(engine, stream.sample_rate, blocks[stream])[: len(enhanced[stream])]
        assert np.abs(enhanced[stream] - wanted).max() <= 1e-6


def test_group_of_the_released_model_equals_single_streams():
    """On excerpts of a recording, at the rates of telephones."""
    noisy, _ = soundfile.read(ROOT / "assets/noisy.wav", dtype="float32")
    group = StreamGroup(RELEASED)
    streams = [group.open(rate) for rate in [8000] * 4 + [16000] * 9]
    signals = {}
    for number, stream in enumerate(streams):
        begin = 16000 + 3000 * number
        signals[stream] = noisy[begin : begin + 6000]
    blocks, enhanced = random_traffic(group, streams, signals, seed=0)
    engine = qse.load(RELEASED, sample_rate=16000)
    for stream in streams:
        wanted = alone(engine, stream.sample_rate, blocks[stream])[: len(enhanced[stream])]
        assert np.abs(wanted).max() > 0.01
        assert np.abs(enhanced[stream] - wanted).max() <= 1e-6


def test_group_limits_the_attenuation_of_each_stream(several):
    group = StreamGroup(several / "recurrent")
    signal = sound(0.3, 8000, 0)
    bypass = group.open(8000, strength=0)
    limited = group.open(8000, strength=12)
    free = group.open(8000)
    found = group.process({bypass: signal, limited: signal, free: signal})
    late = bypass.latency
    assert (found[bypass][late:] == signal[:-late]).all()
    single = qse.Stream(qse.load(several / "recurrent"), 8000, strength=12).process(signal)
    assert np.abs(found[limited] - single).max() <= 1e-6
    assert np.abs(found[free] - found[limited]).max() > 1e-3
    limited.strength = None
    assert limited.strength is None
    with pytest.raises(ValueError, match="from 0 up"):
        limited.strength = -1


def test_group_restarts_a_stream_alone_whose_output_is_not_finite(several):
    """The sum of the loud stream passes 1 in each hop; the quiet one in the same call goes on."""
    group = StreamGroup(several / "fragile")
    loud = group.open(16000)
    quiet = group.open(16000)
    level = np.full(1600, 0.05, np.float32)
    found = group.process({loud: np.full(1600, 2, np.float32), quiet: level})
    assert (loud.resets, quiet.resets) == (10, 0)
    assert not found[loud].any()
    assert (found[quiet][159:] == level[159:]).all()
    found = group.process({loud: level, quiet: level})
    assert loud.resets == 10 and (found[loud][159:] == level[159:]).all()


def test_group_takes_samples_that_are_not_finite_as_silence(several):
    group = StreamGroup(several / "recurrent")
    signal = sound(0.1, 16000, 0)
    holes = signal.copy()
    holes[100:110] = [np.nan, np.inf] * 5
    filled = np.where(np.isfinite(holes), holes, 0)
    first = group.open(16000)
    second = group.open(16000)
    found = group.process({first: holes, second: filled})
    assert np.isnan(holes[100]) and (found[first] == found[second]).all()


def test_group_refuses_what_does_not_fit_and_changes_nothing(several):
    group = StreamGroup(several / "recurrent")
    stream = group.open(16000)
    signal = sound(0.1, 16000, 0)
    foreign = StreamGroup(several / "recurrent").open(16000)
    faults = [
        ({stream: signal, foreign: signal}, ValueError, "another group"),
        ({stream: signal[None]}, ValueError, r"shape \(samples,\)"),
        ({stream: signal.astype(np.int16)}, TypeError, "floats"),
    ]
    for blocks, error, reason in faults:
        with pytest.raises(error, match=reason):
            group.process(blocks)
    wanted = qse.Stream(qse.load(several / "recurrent"), 16000).process(signal)
    assert np.abs(group.process({stream: signal})[stream] - wanted).max() <= 1e-6
    with pytest.raises(ValueError, match="1000 to"):
        group.open(10)
    with pytest.raises(ValueError, match="at least 1"):
        StreamGroup(several / "recurrent", most=0)
    assert group.process({}) == {}


def test_group_refuses_a_second_thread(several, monkeypatch):
    group = StreamGroup(several / "recurrent")
    stream = group.open(16000)
    inside = threading.Event()
    free = threading.Event()
    step = group.graph.step

    def slow(*given):
        inside.set()
        free.wait(60)
        return step(*given)

    monkeypatch.setattr(group.graph, "step", slow)
    silence = np.zeros(160, np.float32)
    thread = threading.Thread(target=group.process, args=({stream: silence},))
    thread.start()
    assert inside.wait(60)
    with pytest.raises(RuntimeError, match="another thread"):
        group.process({stream: silence})
    free.set()
    thread.join()


def test_group_names_a_model_without_such_a_graph(several, models):
    with pytest.raises(qse.QseError, match=r"recurrent has no graph for many streams.*live-tiny"):
        StreamGroup("recurrent")
    with pytest.raises(qse.QseError, match="no model called nothing"):
        StreamGroup("nothing")
    with pytest.raises(qse.QseError, match="not a graph of many streams"):
        StreamGroup(several / "recurrent" / "model.onnx")
    assert StreamGroup(several / "recurrent" / "model-streams.onnx").graph.hop_length == graphs.HOP


def test_group_refuses_a_damaged_graph(tmp_path):
    from qse.runtime.checksums import seal

    graphs.recurrent(tmp_path / "mine" / "model.onnx")
    path = graphs.recurrent(tmp_path / "mine" / "model-streams.onnx", many=True)
    seal(tmp_path / "mine")
    StreamGroup(tmp_path / "mine")
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(qse.QseError, match=r"model-streams.onnx is damaged"):
        StreamGroup(tmp_path / "mine")

"""Engines: what the graph says of itself, the state as a value, and files that are no models."""

import pickle
import platform
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import graphs
import numpy as np
import pytest

from qse import Engine, QseError, load


def hops(count: int, seed: int = 0) -> np.ndarray:
    return (0.3 * np.random.default_rng(seed).standard_normal((count, graphs.HOP))).astype(np.float32)


def walked(engine: Engine, signal: np.ndarray) -> np.ndarray:
    walk = engine.session()
    return np.stack([walk.step(hop).copy() for hop in signal])


def stepped(engine: Engine, signal: np.ndarray) -> np.ndarray:
    state, out = engine.initial_state(), []
    for hop in signal:
        enhanced, state = engine.step(hop, state)
        out.append(enhanced)
    return np.stack(out)


def test_the_graph_says_what_it_is(tmp_path):
    path = graphs.delay(tmp_path / "x" / "model.onnx", latency=320, hop_length=128, sample_rate=8000, version="2.1")
    engine = Engine(path)
    assert (engine.name, engine.version, engine.sample_rate) == ("x", "2.1", 8000)
    assert (engine.hop_length, engine.latency, engine.metadata["licence"]) == (128, 320, "CC0-1.0")
    assert {name: state.shape for name, state in engine.initial_state().items()} == {"state.past": (1, 320)}


def test_latency_is_what_the_graph_does(delay):
    signal = hops(5)
    out = stepped(delay, signal).ravel()
    np.testing.assert_array_equal(out[delay.latency :], signal.ravel()[: -delay.latency])
    np.testing.assert_array_equal(out[: delay.latency], 0)


def test_the_recurrent_graph_follows_its_equations(recurrent):
    mix = 0.9 * np.linalg.qr(np.random.default_rng(0).standard_normal((graphs.HOP, graphs.HOP)))[0]
    h, g, expected = np.zeros(graphs.HOP), np.zeros(graphs.HOP), []
    for hop in hops(50):
        h = np.tanh(h @ mix + hop)
        g = 0.95 * g + 0.05 * h
        expected.append(hop + g)
    np.testing.assert_allclose(stepped(recurrent, hops(50)), expected, atol=1e-5)


def test_a_step_leaves_the_state_that_it_was_given(recurrent):
    state = recurrent.step(hops(1)[0], recurrent.initial_state())[1]
    before = {name: array.copy() for name, array in state.items()}
    first, _ = recurrent.step(hops(1, 1)[0], state)
    again, _ = recurrent.step(hops(1, 1)[0], state)
    np.testing.assert_array_equal(first, again)
    for name, array in state.items():
        np.testing.assert_array_equal(array, before[name])


def test_a_walk_gives_the_bits_of_single_steps_and_starts_anew_after_reset(recurrent):
    signal = hops(201)
    np.testing.assert_array_equal(walked(recurrent, signal), stepped(recurrent, signal))
    walk = recurrent.session()
    for hop in signal:
        walk.step(hop)
    walk.reset()
    np.testing.assert_array_equal(walk.step(signal[0]), stepped(recurrent, signal[:1])[0])


def test_threads_share_an_engine(recurrent):
    signals = [hops(300, seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        at_once = list(pool.map(lambda signal: walked(recurrent, signal), signals))
    for out, signal in zip(at_once, signals, strict=True):
        np.testing.assert_array_equal(out, stepped(recurrent, signal))


def test_an_engine_goes_to_another_process(recurrent):
    signal = hops(20)
    np.testing.assert_array_equal(stepped(pickle.loads(pickle.dumps(recurrent)), signal), stepped(recurrent, signal))


def test_what_is_no_model_is_refused_by_name(tmp_path, zoo):
    missing, text, cut = tmp_path / "missing.onnx", tmp_path / "text.onnx", tmp_path / "cut.onnx"
    text.write_text("not a graph")
    cut.write_bytes((zoo / "recurrent" / "model.onnx").read_bytes()[:50000])
    for path, sentence in ((missing, "no such model"), (text, "cannot be loaded"), (cut, "cannot be loaded")):
        with pytest.raises(QseError, match=f"{path.name}.* {sentence}|{path.name}: {sentence}"):
            Engine(path)


def test_a_foreign_graph_is_refused(tmp_path):
    import onnx

    path = graphs.delay(tmp_path / "model.onnx")
    model = onnx.load(path)
    for change in ("metadata", "output", "shape", "rate"):
        other = onnx.ModelProto()
        other.CopyFrom(model)
        if change == "metadata":
            del other.metadata_props[:]
        elif change == "output":
            other.graph.output[1].name = other.graph.node[2].output[0] = "past"
        else:
            key, value = {"shape": ("hop_length", "80"), "rate": ("sample_rate", "16 kHz")}[change]
            next(entry for entry in other.metadata_props if entry.key == key).value = value
        onnx.save(other, path)
        with pytest.raises(QseError, match="not a streaming model written by `qse export`"):
            Engine(path)


def test_a_graph_that_takes_nothing_is_refused(tmp_path):
    import onnx
    from onnx import TensorProto, helper

    node = helper.make_node("Constant", [], ["enhanced"], value_float=0.0)
    out = helper.make_tensor_value_info("enhanced", TensorProto.FLOAT, [])
    opset = [helper.make_opsetid("", 18)]
    onnx.save(
        helper.make_model(helper.make_graph([node], "x", [], [out]), opset_imports=opset, ir_version=10),
        tmp_path / "x.onnx",
    )
    with pytest.raises(QseError, match=r"x\.onnx is an ONNX file, but not a model written by `qse export`"):
        load(tmp_path / "x.onnx")


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="ONNX Runtime flushes on x86 only")
@pytest.mark.parametrize("flush", [True, False])
def test_numbers_flush_to_zero_only_when_asked(zoo, flush):
    code = f"import numpy, qse; qse.load({str(zoo / 'recurrent')!r}, flush_to_zero={flush}); "
    code += "print(float(numpy.float32(1e-40) * numpy.float32(1)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert (float(out) == 0) == flush

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
    return (0.3 * np.random.default_rng(seed).standard_normal((count, graphs.HOP))).astype(
        np.float32
    )


def by_session(engine: Engine, signal: np.ndarray) -> np.ndarray:
    session = engine.session()
    return np.stack([session.step(hop).copy() for hop in signal])


def stepped(engine: Engine, signal: np.ndarray) -> np.ndarray:
    state = engine.initial_state()
    out = []
    for hop in signal:
        enhanced, state = engine.step(hop, state)
        out.append(enhanced)
    return np.stack(out)


def test_engine_reads_the_metadata(tmp_path):
    path = graphs.delay(
        tmp_path / "x" / "model.onnx", latency=320, hop_length=128, sample_rate=8000, version="2.1"
    )
    engine = Engine(path)
    assert (engine.name, engine.version, engine.sample_rate) == ("x", "2.1", 8000)
    assert (engine.hop_length, engine.latency, engine.metadata["licence"]) == (128, 320, "CC0-1.0")
    assert {name: state.shape for name, state in engine.initial_state().items()} == {
        "state.past": (1, 320)
    }


def test_engine_latency_is_that_of_the_graph(delay):
    signal = hops(5)
    out = stepped(delay, signal).ravel()
    np.testing.assert_array_equal(out[delay.latency :], signal.ravel()[: -delay.latency])
    np.testing.assert_array_equal(out[: delay.latency], 0)


def test_recurrent_graph_follows_its_equations(recurrent):
    mix = 0.9 * np.linalg.qr(np.random.default_rng(0).standard_normal((graphs.HOP, graphs.HOP)))[0]
    h = np.zeros(graphs.HOP)
    g = np.zeros(graphs.HOP)
    expected = []
    for hop in hops(50):
        h = np.tanh(h @ mix + hop)
        g = 0.95 * g + 0.05 * h
        expected.append(hop + g)
    np.testing.assert_allclose(stepped(recurrent, hops(50)), expected, atol=1e-5)


def test_engine_step_does_not_change_its_state(recurrent):
    state = recurrent.step(hops(1)[0], recurrent.initial_state())[1]
    before = {name: array.copy() for name, array in state.items()}
    first, _ = recurrent.step(hops(1, 1)[0], state)
    again, _ = recurrent.step(hops(1, 1)[0], state)
    np.testing.assert_array_equal(first, again)
    for name, array in state.items():
        np.testing.assert_array_equal(array, before[name])


def test_engine_session_equals_steps_and_resets(recurrent):
    signal = hops(201)
    np.testing.assert_array_equal(by_session(recurrent, signal), stepped(recurrent, signal))
    session = recurrent.session()
    for hop in signal:
        session.step(hop)
    session.reset()
    np.testing.assert_array_equal(session.step(signal[0]), stepped(recurrent, signal[:1])[0])


def test_engine_is_shared_by_threads(recurrent):
    signals = [hops(300, seed) for seed in range(4)]
    with ThreadPoolExecutor(4) as pool:
        at_once = list(pool.map(lambda signal: by_session(recurrent, signal), signals))
    for out, signal in zip(at_once, signals, strict=True):
        np.testing.assert_array_equal(out, stepped(recurrent, signal))


def test_engine_can_be_pickled(recurrent):
    signal = hops(20)
    np.testing.assert_array_equal(
        stepped(pickle.loads(pickle.dumps(recurrent)), signal), stepped(recurrent, signal)
    )


def test_engine_refuses_what_is_no_model(tmp_path, zoo):
    missing = tmp_path / "missing.onnx"
    text = tmp_path / "text.onnx"
    cut = tmp_path / "cut.onnx"
    text.write_text("not a graph")
    cut.write_bytes((zoo / "recurrent" / "model.onnx").read_bytes()[:50000])
    for path, sentence in (
        (missing, "no such model"),
        (text, "cannot be loaded"),
        (cut, "cannot be loaded"),
    ):
        with pytest.raises(QseError, match=f"{path.name}.* {sentence}|{path.name}: {sentence}"):
            Engine(path)


def test_engine_refuses_a_foreign_graph(tmp_path):
    import onnx

    path = graphs.delay(tmp_path / "model.onnx")
    model = onnx.load(path)
    for change in ("metadata", "output", "shape", "rate"):
        other = onnx.ModelProto()
        other.CopyFrom(model)
        if change == "metadata":
            del other.metadata_props[:]
        elif change == "output":
            other.graph.output[1].name = "past"
            other.graph.node[2].output[0] = "past"
        else:
            key, value = {"shape": ("hop_length", "80"), "rate": ("sample_rate", "16 kHz")}[change]
            next(entry for entry in other.metadata_props if entry.key == key).value = value
        onnx.save(other, path)
        with pytest.raises(QseError, match="not a streaming model written by `qse export`"):
            Engine(path)


def test_load_refuses_a_graph_without_inputs(tmp_path):
    import onnx
    from onnx import TensorProto, helper

    node = helper.make_node("Constant", [], ["enhanced"], value_float=0.0)
    out = helper.make_tensor_value_info("enhanced", TensorProto.FLOAT, [])
    opset = [helper.make_opsetid("", 18)]
    onnx.save(
        helper.make_model(
            helper.make_graph([node], "x", [], [out]), opset_imports=opset, ir_version=10
        ),
        tmp_path / "x.onnx",
    )
    with pytest.raises(
        QseError, match=r"x\.onnx is an ONNX file, but not a model written by `qse export`"
    ):
        load(tmp_path / "x.onnx")


@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="ONNX Runtime flushes on x86 only"
)
@pytest.mark.parametrize(
    "option, flush", [(", flush_to_zero=True", True), (", flush_to_zero=False", False), ("", False)]
)
def test_engine_flush_to_zero(zoo, option, flush):
    code = f"import numpy, qse; qse.load({str(zoo / 'recurrent')!r}{option}); "
    code += "print(float(numpy.float32(1e-40) * numpy.float32(1)))"
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert (float(out) == 0) == flush

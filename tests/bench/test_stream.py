"""Time foreign graphs, whose numbers may be anything in range, and whose texts anything."""

import math

import pytest

pytest.importorskip("torch")

import graphs
import onnx
from onnx import TensorProto, helper

from qse import QseError
from qse.bench import Request, stream
from qse.bench.count import cost
from qse.runtime.engine import Engine
from qse.runtime.timing import stepper


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """Without the process whose memory is measured."""
    monkeypatch.setattr(stream, "_peak_memory", lambda engine: None)


def test_parameters_that_are_no_number_are_left_out(tmp_path):
    expected = {"1234": 1234, "0": None, "many": None, "1e6": None, "²": None, "9" * 5000: None}
    paths = []
    for number, params in enumerate(expected):
        paths.append(str(graphs.delay(tmp_path / f"{number}.onnx", params=params)))
    rows = stream.bench(Request(tuple(paths), seconds=0.001)).rows
    assert [row["params"] for row in rows] == list(expected.values())
    assert {row["state_bytes"] for row in rows} == {4 * graphs.LATENCY}


@pytest.mark.parametrize(
    "metadata", [{"hop_length": 10**6, "latency": 5}, {"sample_rate": 1, "latency": 60}]
)
def test_hops_of_more_than_two_seconds_are_timed(tmp_path, metadata):
    engine = Engine(graphs.delay(tmp_path / "model.onnx", **metadata))
    step = stepper(engine)
    step()
    heard = step()[engine.latency :]
    assert len(heard) == engine.hop_length - engine.latency
    assert 20 * math.log10(heard.std()) == pytest.approx(-20, abs=2)


def test_a_graph_of_unknown_shapes_is_timed_and_not_counted(tmp_path):
    """A product without the axis along which it sums, as the graph itself declares it."""
    graphs.recurrent(path := tmp_path / "model.onnx")
    model = onnx.load(path)
    for node in model.graph.node:
        if node.op_type == "MatMul":
            node.input[0] = "flat"
    model.graph.node.insert(0, helper.make_node("Identity", ["state.h"], ["flat"]))
    model.graph.value_info.append(helper.make_tensor_value_info("flat", TensorProto.FLOAT, []))
    onnx.save(model, path)
    with pytest.raises(QseError, match=r"model\.onnx: its operators cannot be counted"):
        cost(path)
    (row,) = stream.bench(Request((str(path),), seconds=0.001)).rows
    assert row["p50"] > 0 and "macs" not in row

"""Graphs that return something else than they declare: refused in a sentence that names them."""

import numpy as np
import pytest
from audio_files import make, tone

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper

from qse import QseError, load
from qse.runtime.many_streams import ManyStreams
from qse.runtime.offline import OfflineModel

NODE = helper.make_node
SHORT = NODE("Slice", ["audio", "zero", "five", "one"], ["enhanced"])
EMPTY = NODE("Slice", ["audio", "zero", "zero", "one"], ["enhanced"])
RANK = NODE("Unsqueeze", ["audio", "one"], ["enhanced"])
TEXT = NODE("Cast", ["audio"], ["enhanced"], to=TensorProto.STRING)
WHOLE = NODE("Cast", ["audio"], ["enhanced"], to=TensorProto.INT64)
LIST = NODE("SequenceConstruct", ["audio"], ["enhanced"])
WRONG = {
    "empty": [EMPTY],
    "short": [SHORT],
    "rank": [RANK],
    "text": [TEXT],
    "whole": [WHOLE],
    "list": [LIST],
    # as many numbers as there are samples that are not zero
    "loud": [
        NODE("NonZero", ["audio"], ["found"]),
        NODE("Cast", ["found"], ["enhanced"], to=TensorProto.FLOAT),
    ],
}


def save(path, nodes: list, first: str | int, second: str | int, state: bool = False):
    """Write a graph from `audio` (first, second) to `enhanced`, of no declared type; `state`: it
    has one, which it returns."""
    inputs = [helper.make_tensor_value_info("audio", TensorProto.FLOAT, [first, second])]
    outputs = [onnx.ValueInfoProto(name="enhanced")]
    if state:
        nodes = [*nodes, NODE("Identity", ["state.a"], ["next.a"])]
        inputs.append(helper.make_tensor_value_info("state.a", TensorProto.FLOAT, [first, 3]))
        outputs.append(onnx.ValueInfoProto(name="next.a"))
    constants = []
    for name, number in (("zero", 0), ("one", 1), ("five", 5)):
        constants.append(helper.make_tensor(name, TensorProto.INT64, [1], [number]))
    graph = helper.make_graph(nodes, "wrong", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    about = {"name": "w", "version": "1", "sample_rate": "16000", "hop_length": "160"}
    helper.set_model_props(model, about | ({"latency": "0"} if state else {}))
    onnx.save(model, path)
    return path


@pytest.mark.parametrize("wrong", WRONG)
def test_offline_graphs(tmp_path, wrong, command):
    path = save(tmp_path / "model.onnx", WRONG[wrong], 1, "samples")
    with pytest.raises(QseError, match=r"model\.onnx returns .*export it again"):
        OfflineModel(path).enhance(np.ones(1000, np.float32))
    make(tmp_path / "a.wav", tone(80000))
    status, _, said = command("denoise", tmp_path / "a.wav", "--model", path)
    assert status == 1 and f"{path} returns" in said


@pytest.mark.parametrize("wrong", WRONG)
def test_graphs_of_many_streams(tmp_path, wrong):
    path = save(tmp_path / "model-streams.onnx", WRONG[wrong], "streams", 160, state=True)
    with pytest.raises(QseError, match=r"streams\.onnx returns .*export it again"):
        graph = ManyStreams(path)
        graph.step(np.ones((1, 160), np.float32), graph.initial_state())


@pytest.mark.parametrize("wrong", WRONG)
def test_streaming_graphs(tmp_path, wrong):
    """Here the output is an array of the session, which ONNX Runtime compares."""
    path = save(tmp_path / "model.onnx", WRONG[wrong], 1, 160, state=True)
    with pytest.raises(QseError, match=r"model\.onnx cannot be run"):
        load(path)


def test_a_step_of_a_streaming_graph(tmp_path):
    """One that returns a shorter hop once its input is loud; `Engine.step` has no array for it."""
    nodes = [
        NODE("ReduceMax", ["audio"], ["most"], keepdims=1),
        NODE("Cast", ["most"], ["loud"], to=TensorProto.INT64),
        NODE("Reshape", ["loud", "one"], ["first"]),
        NODE("Slice", ["audio", "first", "end", "one"], ["enhanced"]),
        NODE("Constant", [], ["end"], value_ints=[160]),
    ]
    path = save(tmp_path / "model.onnx", [nodes[-1], *nodes[:-1]], 1, 160, state=True)
    engine = load(path)
    enhanced, state = engine.step(np.full(160, 0.5, np.float32), engine.initial_state())
    assert (enhanced == 0.5).all()
    with pytest.raises(QseError, match=r"returns the shape \(1, 159\) for \(1, 160\)"):
        engine.step(np.ones(160, np.float32), state)

"""Simplified graphs: equal outputs from fewer operators, on graphs made by hand."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

from qse.export.simplify import simplify


def graph(nodes, inputs, outputs, **constants):
    """A model of nodes ("Op", "inputs", "outputs", {attributes}); inputs and outputs by name and
    shape."""
    made = [
        helper.make_node(op, ins.split(), outs.split(), **attributes)
        for op, ins, outs, attributes in nodes
    ]

    def described(tensors):
        floats = TensorProto.FLOAT
        return [
            helper.make_tensor_value_info(name, floats, shape) for name, shape in tensors.items()
        ]

    values = (described(inputs), described(outputs))
    weights = [
        numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()
    ]
    model = helper.make_model(
        helper.make_graph(made, "hand", *values, weights),
        opset_imports=[helper.make_opsetid("", 18)],
        ir_version=9,
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def compute(model):
    """Outputs by name, for the same random inputs every time."""
    session = ort.InferenceSession(model.SerializeToString())
    rng = np.random.default_rng(0)
    feed = {
        node.name: rng.standard_normal(node.shape).astype(np.float32)
        for node in session.get_inputs()
    }
    return dict(
        zip((node.name for node in session.get_outputs()), session.run(None, feed), strict=True)
    )


def simplified(model) -> list[str]:
    """Simplifies, compares all outputs, and returns the operators that are left."""
    smaller = simplify(model)
    expected = compute(model)
    found = compute(smaller)
    assert list(expected) == list(found)
    for name, array in expected.items():
        assert found[name].shape == array.shape
        np.testing.assert_allclose(found[name], array, rtol=0, atol=1e-6)
    assert [node.op_type for node in simplify(smaller).graph.node] == [
        node.op_type for node in smaller.graph.node
    ]
    return [node.op_type for node in smaller.graph.node]


RNG = np.random.default_rng(1)
SHAPE = {"wide": np.array([1, 1, 6, 4]), "flat": np.array([6, 4]), "deep": np.array([6, 1, 2, 2])}


def draw(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def test_simplify_transposes_constants_once():
    """A weight that two products share, as the exporter leaves it: it folds those of one only."""
    nodes = [
        ("Transpose", "weight", "turned", {"perm": [1, 0]}),
        ("MatMul", "x turned", "y", {}),
        ("MatMul", "z turned", "u", {}),
    ]
    shapes = {"x": [6, 4], "z": [6, 4]}
    model = graph(nodes, shapes, {"y": [6, 3], "u": [6, 3]}, weight=draw(3, 4))
    assert simplified(model) == ["MatMul", "MatMul"]


def test_simplify_token_layer_to_plain_matrices():
    """Linear on (1, 1, 6, 4) with a bias, a norm, an activation, and a residual that came another
    way."""
    nodes = [
        ("Reshape", "x wide", "a", {}),
        ("Transpose", "a", "b", {"perm": [0, 2, 1, 3]}),
        ("Transpose", "b", "c", {"perm": [0, 2, 1, 3]}),
        ("MatMul", "c weight", "d", {}),
        ("Add", "d bias", "e", {}),
        ("LayerNormalization", "e gain bias", "f", {"axis": -1}),
        ("Unsqueeze", "f zero", "g", {}),
        ("Sigmoid", "g", "h", {}),
        ("Squeeze", "h zero", "i", {}),
        ("Add", "i a", "j", {}),
        ("Reshape", "j flat", "y", {}),
    ]
    model = graph(
        nodes,
        {"x": [6, 4]},
        {"y": [6, 4]},
        weight=draw(4, 4),
        bias=draw(4),
        gain=draw(4),
        zero=np.array([0]),
        **SHAPE,
    )
    assert simplified(model) == ["MatMul", "Add", "LayerNormalization", "Sigmoid", "Add"]


def test_simplify_keeps_real_transposes():
    nodes = [("Transpose", "x", "a", {"perm": [0, 3, 2, 1]}), ("Reshape", "a wide", "y", {})]
    model = graph(nodes, {"x": [1, 6, 1, 4]}, {"y": [1, 1, 6, 4]}, **SHAPE)
    assert simplified(model) == ["Transpose", "Reshape"]


def test_simplify_transposes_without_axes_of_one():
    nodes = [
        ("Reshape", "x batch", "a", {}),
        ("Transpose", "a", "b", {"perm": [0, 3, 1, 2]}),
        ("Neg", "b", "c", {}),
        ("Reshape", "c turned", "y", {}),
    ]
    shapes = {"batch": np.array([1, 2, 3, 4]), "turned": np.array([4, 2, 3])}
    assert simplified(graph(nodes, {"x": [6, 4]}, {"y": [4, 2, 3]}, **shapes)) == [
        "Reshape",
        "Transpose",
        "Neg",
    ]


def test_simplify_sum_of_different_views():
    nodes = [
        ("Transpose", "x", "a", {"perm": [0, 2, 1]}),
        ("Reshape", "a wide", "b", {}),
        ("Add", "b z", "c", {}),
        ("Conv", "c kernel", "y", {}),
    ]
    shapes = {"wide": np.array([1, 3, 1, 8]), "kernel": np.ones((2, 3, 1, 1), np.float32)}
    model = graph(nodes, {"x": [3, 2, 4], "z": [1, 3, 1, 8]}, {"y": [1, 2, 1, 8]}, **shapes)
    assert simplified(model) == ["Transpose", "Reshape", "Add", "Conv"]


def test_simplify_reshapes_for_a_broadcast_constant():
    """(6, 1, 2, 2) + (2, 1): under the view lies (6, 4), where the constant would not fit."""
    nodes = [("Reshape", "x deep", "a", {}), ("Mul", "a factor", "y", {})]
    model = graph(nodes, {"x": [6, 4]}, {"y": [6, 1, 2, 2]}, factor=draw(2, 1), **SHAPE)
    assert simplified(model) == ["Reshape", "Mul"]


def test_simplify_applies_a_constant_of_the_stored_shape():
    """(1, 1, 6, 4) * (6, 4): under the view lies (6, 4), where the constant fits as it is."""
    nodes = [
        ("Reshape", "x wide", "a", {}),
        ("Mul", "a factor", "b", {}),
        ("Reshape", "b flat", "y", {}),
    ]
    model = graph(nodes, {"x": [6, 4]}, {"y": [6, 4]}, factor=draw(6, 4), **SHAPE)
    assert simplified(model) == ["Mul"]


@pytest.mark.parametrize("b", ["stack", "z"])
def test_simplify_keeps_products_of_other_matrices(b):
    """With a stack of constant matrices, and with a matrix that is no constant."""
    nodes = [("Reshape", "x cube", "a", {}), ("MatMul", f"a {b}", "y", {})]
    constants = {"cube": np.array([2, 3, 4]), "stack": draw(2, 4, 5)}
    model = graph(nodes, {"x": [6, 4], "z": [4, 5]}, {"y": [2, 3, 5]}, **constants)
    assert simplified(model) == ["Reshape", "MatMul"]


def test_simplify_reshapes_for_broadcasting_tensors():
    nodes = [("Reshape", "x wide", "a", {}), ("Mul", "a z", "y", {})]
    model = graph(nodes, {"x": [6, 4], "z": [3, 1, 1, 4]}, {"y": [3, 1, 6, 4]}, **SHAPE)
    assert simplified(model) == ["Reshape", "Mul"]


def test_simplify_removes_full_slices():
    ends = {
        "zero": np.array([0]),
        "six": np.array([6]),
        "last": np.array([-1]),
        "before": np.array([-7]),
    }
    nodes = [("Slice", "x zero six zero", "a", {}), ("Neg", "a", "y", {})]
    assert simplified(graph(nodes, {"x": [6, 4]}, {"y": [6, 4]}, **ends)) == ["Neg"]
    nodes = [("Slice", "x last before zero last", "a", {}), ("Neg", "a", "y", {})]
    assert simplified(graph(nodes, {"x": [6, 4]}, {"y": [6, 4]}, **ends)) == ["Slice", "Neg"]


def test_simplify_reshapes_once_per_shape():
    nodes = [
        ("Neg", "x", "a", {}),
        ("Reshape", "a wide", "b", {}),
        ("Softmax", "b", "y", {"axis": 2}),
        ("Softmax", "b", "z", {"axis": 3}),
    ]
    model = graph(nodes, {"x": [6, 4]}, {"y": [1, 1, 6, 4], "z": [1, 1, 6, 4]}, **SHAPE)
    assert simplified(model) == ["Neg", "Reshape", "Softmax", "Softmax"]


def test_simplify_keeps_output_names_and_shapes():
    """A computed one, a view of a computed one, an input handed through, one of two equal ones; a
    node without use."""
    nodes = [
        ("Neg", "x", "a", {}),
        ("Reshape", "a wide", "b", {}),
        ("Reshape", "x wide", "c", {}),
        ("Identity", "x", "d", {}),
        ("Identity", "a", "e", {}),
        ("Exp", "x", "idle", {}),
        ("Abs", "x", "f", {}),
        ("Identity", "f", "g", {}),
        ("Identity", "f", "h", {}),
    ]
    outputs = {"a": [6, 4], "b": [1, 1, 6, 4], "c": [1, 1, 6, 4], **{key: [6, 4] for key in "degh"}}
    found = simplified(graph(nodes, {"x": [6, 4]}, outputs, **SHAPE))
    assert sorted(found) == ["Abs", "Identity", "Identity", "Identity", "Neg", "Reshape", "Reshape"]


def test_simplify_reshapes_for_other_norm_axes():
    nodes = [("Reshape", "x deep", "a", {}), ("LayerNormalization", "a gain", "y", {"axis": 2})]
    model = graph(nodes, {"x": [6, 4]}, {"y": [6, 1, 2, 2]}, gain=draw(2, 2), **SHAPE)
    assert simplified(model) == ["Reshape", "LayerNormalization"]


def test_simplify_keeps_metadata_and_opset():
    model = graph([("Neg", "x", "y", {})], {"x": [2]}, {"y": [2]})
    helper.set_model_props(model, {"name": "hand"})
    smaller = simplify(model)
    assert (
        smaller.metadata_props == model.metadata_props
        and smaller.opset_import == model.opset_import
    )

"""Cost of a graph, computed by hand."""

import pytest

pytest.importorskip("torch")

import onnx
from onnx import TensorProto, helper

from qse.bench import count


def test_cost_counts_macs_by_hand(tmp_path):
    """Conv 3 -> 5, kernel 2 x 3, 4 x 7 outputs; Gemm 6 x 8 by 8 x 9; MatMul 2 x (3 x 4 by 4 x 5);
    per second."""

    def value(name, *shape):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    inputs = [value("audio", 1, 160), value("state.a", 2, 3), value("state.b", 7)]
    inputs += [value("x", 1, 3, 5, 9), value("w", 5, 3, 2, 3), value("g", 8, 6), value("h", 8, 9)]
    inputs += [value("m", 2, 3, 4), value("n", 2, 4, 5)]
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["conv"]),
        helper.make_node("Gemm", ["g", "h"], ["gemm"], transA=1),
        helper.make_node("MatMul", ["m", "n"], ["matmul"]),
    ]
    outputs = [value("conv", 1, 5, 4, 7), value("gemm", 6, 9), value("matmul", 2, 3, 5)]
    model = helper.make_model(helper.make_graph(nodes, "hand", inputs, outputs))
    helper.set_model_props(model, {"sample_rate": "16000", "hop_length": "160"})
    onnx.save(model, tmp_path / "model.onnx")
    per_hop = 5 * 4 * 7 * 3 * 2 * 3 + 6 * 8 * 9 + 2 * 3 * 4 * 5
    found = count.cost(tmp_path / "model.onnx")
    assert found == count.GraphCost(
        3, 100 * per_hop, 4 * (6 + 7), (tmp_path / "model.onnx").stat().st_size
    )

"""Quaternion weights stored once in an ONNX file."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")

import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

from qse.export.compact_weights import compact, find_quaternions
from qse.export.real_form import interleave
from qse.nn.quaternion import hamilton_matrix

RNG = np.random.default_rng(0)


def real_matrix(out: int, into: int, *kernel: int) -> np.ndarray:
    """The matrix of a lowered layer: components side by side, rows scaled as by a folded batch
    norm."""
    weight = torch.from_numpy(RNG.standard_normal((4, out, into, *kernel)).astype(np.float32))
    matrix = interleave(interleave(hamilton_matrix(weight)), 1).numpy()
    factors = RNG.uniform(-2, 2, 4 * out).astype(np.float32)
    return matrix * factors.reshape(-1, *[1] * (matrix.ndim - 1))


def matmul_graph(matrix: np.ndarray) -> "onnx.ModelProto":
    """y = x @ matrix."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, matrix.shape[0]])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, matrix.shape[1]])
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    graph = helper.make_graph(
        [node], "g", [x], [y], [numpy_helper.from_array(np.ascontiguousarray(matrix), "w")]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


@pytest.mark.parametrize("shape", [(8, 12), (3, 5, 1, 3), (16, 16, 2, 3)])
def test_find_quaternions_rebuilds_the_matrix(shape):
    matrix = real_matrix(*shape)
    found = find_quaternions(matrix)
    assert found is not None and found.weight.shape[:3] == (4, *shape[:2]) and not found.transposed
    np.testing.assert_allclose(found.matrix(matrix.shape), matrix, atol=1e-6)


def test_find_quaternions_rebuilds_a_transposed_matrix():
    matrix = np.ascontiguousarray(real_matrix(6, 9).T)
    found = find_quaternions(matrix)
    assert found is not None and found.transposed
    np.testing.assert_allclose(found.matrix(matrix.shape), matrix, atol=1e-6)


@pytest.mark.parametrize(
    "matrix",
    [
        RNG.standard_normal((32, 32)).astype(np.float32),
        real_matrix(8, 8) + 1e-4 * RNG.standard_normal((32, 32)).astype(np.float32),
        real_matrix(8, 8)[:30],
        np.roll(real_matrix(8, 8), 1, axis=1),
        np.ones(4096, np.float32),
    ],
    ids=["real", "noise", "rows", "columns shifted", "vector"],
)
def test_find_quaternions_leaves_other_matrices(matrix):
    assert find_quaternions(matrix) is None


def test_find_quaternions_takes_zero_rows():
    matrix = real_matrix(8, 8)
    matrix[4:8] = 0
    found = find_quaternions(matrix)
    assert found is not None
    np.testing.assert_allclose(found.matrix(matrix.shape), matrix, atol=1e-6)


@pytest.mark.parametrize("transposed", [False, True])
def test_compact_stores_a_quarter_and_computes_the_same(transposed):
    matrix = real_matrix(32, 32)
    matrix = np.ascontiguousarray(matrix.T) if transposed else matrix
    model = matmul_graph(matrix)
    before = len(model.SerializeToString())
    small = compact(matmul_graph(matrix))
    onnx.checker.check_model(small)
    assert len(small.SerializeToString()) < 0.35 * before
    x = RNG.standard_normal((1, 128)).astype(np.float32)
    (y,) = ort.InferenceSession(small.SerializeToString()).run(None, {"x": x})
    np.testing.assert_allclose(y, x @ matrix, rtol=1e-4, atol=1e-4)


def test_compact_leaves_a_real_matrix_and_small_ones():
    for matrix in (RNG.standard_normal((64, 64)).astype(np.float32), real_matrix(4, 4)):
        model = matmul_graph(matrix)
        assert compact(matmul_graph(matrix)).SerializeToString() == model.SerializeToString()

"""Store quaternion weights in an ONNX file once, not four times.

A lowered layer has the real matrix of its quaternion weight (Eq. 28): every number of the weight
stands in it four times, with the signs of the Hamilton product, and a folded batch norm scales its
rows. `compact` finds such matrices and replaces each by the weight, a factor for every row, and
five operators that build the matrix. They take constants alone, so ONNX Runtime computes them once,
when it loads the graph, and runs the same operators as before.
"""

from dataclasses import dataclass
from math import prod

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ..nn.quaternion import PART, SIGN

SMALLEST = 1024  # numbers: smaller matrices are left as they are
TOLERANCE = 2e-7  # of the largest number of a matrix, by which the one that is built may differ
PARTS = np.array(PART)
SIGNS = np.array(SIGN, np.float32)


@dataclass(frozen=True)
class Compact:
    """A quaternion weight (4, A, B, K) and the factors (A, 4) of the rows of its real matrix
    (4 A, 4 B, K)."""

    weight: np.ndarray
    rows: np.ndarray
    transposed: bool  # the graph holds (4 B, 4 A)

    def factors(self) -> np.ndarray:
        """Return the signs times the factors of the rows, in the shape in which they multiply the
        built matrix."""
        factors = self.rows[:, :, None, None] * SIGNS[:, None, :]  # A, 4, 1, 4
        return (factors.transpose(2, 3, 0, 1) if self.transposed else factors)[..., None]

    def order(self) -> list[int]:
        """Return where the axes (row, column, A, B, K) go, row and column being components."""
        return [3, 1, 2, 0, 4] if self.transposed else [2, 0, 3, 1, 4]

    def matrix(self, shape: tuple[int, ...]) -> np.ndarray:
        """Return the matrix as the operators build it."""
        blocks = (
            self.weight[PARTS.ravel()].reshape(4, 4, *self.weight.shape[1:]).transpose(self.order())
        )
        return (blocks * self.factors()).reshape(shape)


def find_quaternions(matrix: np.ndarray) -> Compact | None:
    """Return the quaternion weight of a real matrix (out, in, *kernel) or (in, out); None if it is
    not built of one."""
    for transposed in (False, True)[: 1 + (matrix.ndim == 2)]:
        found = _find(matrix.T if transposed else matrix, transposed)
        if (
            found
            and np.abs(found.matrix(matrix.shape) - matrix).max()
            <= TOLERANCE * np.abs(matrix).max()
        ):
            return found
    return None


def _find(matrix: np.ndarray, transposed: bool) -> Compact | None:
    if matrix.ndim < 2 or matrix.shape[0] % 4 or matrix.shape[1] % 4:
        return None
    # A, 4, B, 4, K
    blocks = matrix.reshape(matrix.shape[0] // 4, 4, matrix.shape[1] // 4, 4, -1).astype(np.float64)
    # of every row: the rows of a quaternion differ by their factors alone
    energy = np.square(blocks).sum((2, 3, 4))
    largest = energy.argmax(1)
    rows = np.sqrt(energy / energy.max(1, keepdims=True).clip(1e-300))
    weight = np.zeros((4, *blocks.shape[::2]))
    for a, row in enumerate(largest):
        for column in range(4):
            weight[PARTS[row, column], a] = SIGNS[row, column] * blocks[a, row, :, column]
    # a batch norm may turn the sign of a row
    signs = np.einsum("apbqk,pq,pqabk->ap", blocks, SIGNS, weight[PARTS])
    rows = (rows * np.where(signs < 0, -1, 1)).astype(np.float32)
    return Compact(weight.astype(np.float32), rows, transposed)


def compact(model: onnx.ModelProto) -> onnx.ModelProto:
    """Replace the quaternion matrices of `model`, in place, and return it."""
    graph = model.graph
    kept = []
    built = []
    for initializer in graph.initializer:
        matrix = numpy_helper.to_array(initializer)
        found = (
            find_quaternions(matrix)
            if matrix.size >= SMALLEST and matrix.dtype == np.float32
            else None
        )
        if found is None:
            kept.append(initializer)
        else:
            constants, nodes = _building(initializer.name, found, matrix.shape)
            kept += constants
            built += nodes
    if built:
        kept.append(numpy_helper.from_array(PARTS.ravel(), "hamilton.parts"))
    nodes = [*built, *graph.node]
    del graph.initializer[:], graph.node[:]
    graph.initializer.extend(kept)
    graph.node.extend(nodes)
    return model


def _building(
    name: str, found: Compact, shape: tuple[int, ...]
) -> tuple[list[onnx.TensorProto], list[onnx.NodeProto]]:
    """Return the constants and the operators from which the matrix `name` is built."""
    blocks = (4, 4, *found.weight.shape[1:])
    constants = {
        "weight": found.weight,
        "factors": found.factors(),
        "blocks": np.array(blocks, np.int64),
        "shape": np.array(shape, np.int64),
    }
    assert prod(blocks) == prod(shape)
    make = helper.make_node
    nodes = [
        make("Gather", [f"{name}.weight", "hamilton.parts"], [f"{name}.parts"], axis=0),
        make("Reshape", [f"{name}.parts", f"{name}.blocks"], [f"{name}.split"]),
        make("Transpose", [f"{name}.split"], [f"{name}.ordered"], perm=found.order()),
        make("Mul", [f"{name}.ordered", f"{name}.factors"], [f"{name}.scaled"]),
        make("Reshape", [f"{name}.scaled", f"{name}.shape"], [name]),
    ]
    stored = []
    for key, value in constants.items():
        stored.append(numpy_helper.from_array(value, f"{name}.{key}"))
    return stored, nodes

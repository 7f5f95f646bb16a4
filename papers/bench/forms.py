"""Compute attention in different ways: torch forms that the library does not use, and all forms as
ONNX graphs.

q, k, v (1, H, T, 4, d): heads, tokens, components, quaternion channels of a head. S: scores, A:
weights.
"""

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.nn import functional as F

from qse.nn.quaternion import PART, SIGN

from ..nn.hamilton import component_attention, folded_attention

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]
# adds a node to a graph: its kind, inputs, attributes -> the name of its output
Op = Callable[..., str]
Constant = Callable[[ArrayLike], str]


def shared_fused(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Compute shared scores as in nn.attention: one call of scaled dot-product attention
    in R^(4d)."""
    y = F.scaled_dot_product_attention(q.flatten(-2), k.flatten(-2), v.flatten(-2))
    return y.unflatten(-1, (4, -1))


def shared_four_products(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Compute Eqs. 9-13 as written: a product per component for scores, one softmax, a product per
    component for y."""
    q = q.movedim(-2, 0)
    k = k.movedim(-2, 0)
    v = v.movedim(-2, 0)
    products = map(torch.matmul, q, k.mT)
    score = reduce(torch.add, products) / math.sqrt(4 * q.shape[-1])
    weights = score.softmax(-1)
    return torch.stack([weights @ part for part in v], -2)


def hamilton_four_calls(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Call scaled dot-product attention once per component, with permuted and signed keys
    (see ../nn/hamilton.py)."""
    y = []
    for component in range(4):
        permuted = k[..., list(PART[component]), :] * k.new_tensor(SIGN[component])[:, None]
        scale = 1 / math.sqrt(q.shape[-1])
        value = v[..., component, :]
        y.append(
            F.scaled_dot_product_attention(q.flatten(-2), permuted.flatten(-2), value, scale=scale)
        )
    return torch.stack(y, -2)


FORMS: dict[str, Attend] = {
    "shared, fused": shared_fused,
    "shared, 4 products": shared_four_products,
    "hamilton, folded": folded_attention,
    "hamilton, 4 calls": hamilton_four_calls,
    "hamilton, 16 products": component_attention,
}


def onnx_graph(form: str, heads: int, tokens: int, d: int) -> bytes:
    """Return one of these forms as a graph for ONNX Runtime; inputs q, k, v (4, H, T, d), output y
    of that shape.

    Fused and folded forms have inputs and output (1, T, H 4d), the layout of their operator.
    """
    from onnx import NodeProto, TensorProto, helper, numpy_helper

    nodes = list[NodeProto]()
    constants = list[TensorProto]()

    def constant(array: ArrayLike) -> str:
        constants.append(numpy_helper.from_array(np.asarray(array), f"c{len(constants)}"))
        return constants[-1].name

    def op(kind: str, *inputs: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(kind, list(inputs), [f"t{len(nodes)}"], **attributes))
        return nodes[-1].output[0]

    def split(name: str) -> list[str]:
        parts = [f"{name}{c}" for c in range(4)]
        nodes.append(helper.make_node("Split", [name], parts, axis=0, num_outputs=4))
        return parts

    def matmul(left: str, right: str) -> str:
        return op("MatMul", left, right)

    shape = [4, heads, tokens, d]
    if form == "shared, fused":
        shape = [1, tokens, heads * 4 * d]
        y = op("MultiHeadAttention", "q", "k", "v", num_heads=heads, domain="com.microsoft")
    elif form == "hamilton, folded":
        shape = [1, tokens, heads * 4 * d]
        y = _folded(op, constant, heads, tokens, d)
    else:
        q = split("q")
        k = [op("Transpose", part, perm=[0, 1, 3, 2]) for part in split("k")]
        v = split("v")
        if form == "shared, 4 products":
            score = op("Sum", *map(matmul, q, k))
            scaled = op("Mul", score, constant(np.float32((4 * d) ** -0.5)))
            weights = op("Softmax", scaled, axis=-1)
            components = [matmul(weights, part) for part in v]
        else:
            components = [_component(op, constant, a, q, k, v, d) for a in range(4)]
        y = op("Concat", *components, axis=0)
    nodes.append(helper.make_node("Identity", [y], ["y"]))
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "qkvy"]
    graph = helper.make_graph(nodes, "attention", values[:3], values[3:], constants)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()


def _component(
    op: Op, constant: Constant, a: int, q: list[str], k: list[str], v: list[str], d: int
) -> str:
    """Add the nodes of component a of Eqs. 14-16; return its output."""
    products = []
    for x in range(4):
        product = op("MatMul", q[x], k[PART[a][x]])
        products.append(product if SIGN[a][x] > 0 else op("Neg", product))
    score = op("Mul", op("Sum", *products), constant(np.float32(d**-0.5)))
    weights = op("Softmax", score, axis=-1)
    return op("MatMul", weights, v[a])


def _folded(op: Op, constant: Constant, heads: int, tokens: int, d: int) -> str:
    """Add one fused call with four times the heads, values padded with zeros from d to 4d, as in
    ../nn/hamilton.py."""

    def reshape(x: str, *shape: int) -> str:
        return op("Reshape", x, constant(np.array(shape, np.int64)))

    part = np.array(PART)
    sign = np.array(SIGN, np.float32)
    k = op("Gather", reshape("k", tokens, heads, 4, d), constant(part), axis=2)  # T, H, a, x, d
    k = reshape(op("Mul", k, constant(sign[:, :, None])), 1, tokens, -1)
    q = op(
        "Expand",
        reshape("q", tokens, heads, 1, 4 * d),
        constant(np.array([tokens, heads, 4, 4 * d])),
    )
    zeros = constant(np.array([0, 0, 0, 0, 0, 0, 0, 3 * d], np.int64))
    v = op("Pad", reshape("v", tokens, heads, 4, d), zeros)
    y = op(
        "MultiHeadAttention",
        reshape(q, 1, tokens, -1),
        k,
        reshape(v, 1, tokens, -1),
        num_heads=4 * heads,
        scale=d**-0.5,
        domain="com.microsoft",
    )
    start = constant(np.array([0]))
    end = constant(np.array([d]))
    axis = constant(np.array([2]))
    y = op("Slice", reshape(y, tokens, heads * 4, 4 * d), start, end, axis)
    return reshape(y, 1, tokens, -1)

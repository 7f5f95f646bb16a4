"""Simplify an exported graph: remove operators that only change shapes, or apply them once, where
they are needed.

Every tensor of a wave step has a fixed shape, and most have axes of length one (batch, frame). A
tensor with the values of another one in the same order is a view of it and needs no operator until
another operator requires its shape. Element-wise operators, and those along the last axis, are
applied to the tensor under the view.

stored: the shape of a tensor in the new graph; shape: its shape in the old graph.
"""

from math import prod

import numpy as np
import onnx
from onnx import helper, numpy_helper

SHAPING = {"Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"}
ELEMENTWISE = {"Clip", "Exp", "LeakyRelu", "Log", "Neg", "Reciprocal", "Relu", "Sigmoid"}
ELEMENTWISE |= {"Sqrt", "Tanh"}
PAIRWISE = {"Add", "Div", "Max", "Min", "Mul", "Pow", "Sub"}

Shape = tuple[int, ...]


def simplify(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a graph of the same function, inputs and outputs with fewer operators.

    Every shape must be fixed.
    """
    rewriter = _Rewriter(onnx.shape_inference.infer_shapes(model, strict_mode=True).graph)
    nodes = rewriter.nodes()
    used = set().union(*(node.input for node in nodes))
    weights = []
    for name, array in rewriter.constants.items():
        if name in used:
            weights.append(numpy_helper.from_array(array, name))
    old = model.graph
    graph = helper.make_graph(nodes, old.name, old.input, old.output, weights)
    smaller = onnx.ModelProto()
    smaller.CopyFrom(model)
    smaller.graph.CopyFrom(graph)
    onnx.checker.check_model(smaller, full_check=True)
    return smaller


class _Rewriter:
    """Visit the nodes of a graph in order and write those of the new graph."""

    def __init__(self, graph: onnx.GraphProto):
        self.graph = graph
        self.constants: dict[str, np.ndarray] = {}
        self.shape: dict[str, Shape] = {}
        # tensor -> tensor of the new graph with its values
        self.view = {info.name: info.name for info in graph.input}
        for info in (*graph.input, *graph.value_info, *graph.output):
            self.shape[info.name] = _fixed(info)
        for weight in graph.initializer:
            self._constant(weight.name, weight)
        self.stored = {name: self.shape[name] for name in self.view}
        self.reshaped: dict[tuple[str, Shape], str] = {}
        self.written: list[onnx.NodeProto] = []

    def nodes(self) -> list[onnx.NodeProto]:
        """Return the nodes of the new graph, without unused ones."""
        for node in self.graph.node:
            if node.op_type == "Constant":
                self._constant(node.output[0], helper.get_node_attr_value(node, "value"))
            elif node.op_type == "Transpose" and node.input[0] in self.constants:
                perm = helper.get_node_attr_value(node, "perm")
                self._constant(node.output[0], self.constants[node.input[0]].transpose(perm))
            elif self._only_shapes(node):
                self.view[node.output[0]] = self.view[node.input[0]]
            else:
                self._rewrite(node)
        for output in self.graph.output:
            self._deliver(output.name)
        needed = {output.name for output in self.graph.output}
        kept = []
        for node in reversed(self.written):
            if needed.intersection(node.output):
                needed.update(node.input)
                kept.append(node)
        return kept[::-1]

    def _only_shapes(self, node: onnx.NodeProto) -> bool:
        """Return True if the output holds the values of the first input in their order."""
        source = node.input[0] if node.input else ""
        if source in self.constants:
            return False
        if node.op_type == "Transpose":
            moved = _moved(node, self.shape[source])
            return moved == sorted(moved)
        if node.op_type == "Gather":  # from an axis of length one
            return self.constants.get(node.input[1], np.ones(2)).size == 1 and self._all(node)
        if node.op_type == "Slice":
            has_steps = len(node.input) >= 5
            if has_steps and not (self.constants[node.input[4]] == 1).all():
                return False
            return self._all(node)
        return node.op_type in SHAPING

    def _all(self, node: onnx.NodeProto) -> bool:
        """Return True if no value is left out."""
        return prod(self.shape[node.input[0]]) == prod(self.shape[node.output[0]])

    def _last_axis(self, node: onnx.NodeProto) -> bool:
        """Return True if the operator works along the last axis, which the stored tensor keeps."""
        shape = self.shape[node.input[0]]
        stored = self.stored[self.view[node.input[0]]]
        axis = -1
        for attribute in node.attribute:
            if attribute.name == "axis":
                axis = attribute.i
        return axis in (-1, len(shape) - 1) and stored[-1] == shape[-1]

    def _rewrite(self, node: onnx.NodeProto) -> None:
        """Write a node on stored tensors if its operator allows it, else on those of old shapes."""
        first = node.input[0]
        normalises = node.op_type == "LayerNormalization" and self._last_axis(node)
        if node.op_type in ELEMENTWISE or normalises:
            self._write(node, [self.view[first], *node.input[1:]], self.stored[self.view[first]])
        elif node.op_type in PAIRWISE:
            self._pairwise(node)
        elif node.op_type == "MatMul":
            self._matmul(node)
        elif node.op_type == "Transpose" and self.stored[self.view[first]] != self.shape[first]:
            self._transpose(node)
        else:
            self._write_in_old_shapes(node)

    def _write_in_old_shapes(self, node: onnx.NodeProto) -> None:
        self._write(node, [self._shaped(name, self.shape.get(name, ())) for name in node.input])

    def _pairwise(self, node: onnx.NodeProto) -> None:
        a, b = node.input
        constants = (a in self.constants) + (b in self.constants)
        if not constants and self.shape[a] == self.shape[b]:
            first = self.stored[self.view[a]]
            second = self.stored[self.view[b]]
            equal = _long(first) == _long(second)
            shape = min(first, second, key=len) if equal else self.shape[a]
            self._write(node, [self._shaped(a, shape), self._shaped(b, shape)], shape)
        elif constants == 1 and self._same_last_axes(node):
            inputs = [self.view.get(a, a), self.view.get(b, b)]
            varying = inputs[1] if a in self.constants else inputs[0]
            self._write(node, inputs, self.stored[varying])
        else:
            self._write_in_old_shapes(node)

    def _same_last_axes(self, node: onnx.NodeProto) -> bool:
        """Return True if the constant is broadcast to the stored tensor as to the old one."""
        name, constant = node.input
        if name in self.constants:
            name, constant = constant, name
        shape = self.shape[name]
        if prod(shape) != prod(self.shape[node.output[0]]):
            return False
        stored = self.stored[self.view[name]]
        axes = len(self.shape[constant])
        return axes <= len(stored) and stored[len(stored) - axes :] == shape[len(shape) - axes :]

    def _matmul(self, node: onnx.NodeProto) -> None:
        """Write a product with a constant matrix as one of two matrices."""
        a, b = node.input
        left = self.shape[a]
        right = self.shape[b]
        if b in self.constants and len(right) == 2:
            rows = (prod(left[:-1]), left[-1])
            return self._write(node, [self._shaped(a, rows), b], (rows[0], right[1]))
        return self._write(node, [self._shaped(a, left), self._shaped(b, right)])

    def _transpose(self, node: onnx.NodeProto) -> None:
        """Write a transpose that needs a reshape anyway without the axes of length one."""
        shape = self.shape[node.input[0]]
        moved = _moved(node, shape)
        perm = list(map(sorted(moved).index, moved))
        short = helper.make_node("Transpose", node.input, node.output, perm=perm)
        source = self._shaped(node.input[0], _long(shape))
        self._write(short, [source], _long(self.shape[node.output[0]]))

    def _write(self, node: onnx.NodeProto, inputs: list[str], stored: Shape | None = None) -> None:
        """Write a node; `stored` is the shape of its output where it differs from the old one."""
        new = onnx.NodeProto()
        new.CopyFrom(node)
        new.input[:] = inputs
        if stored is not None and stored != self.shape[node.output[0]]:
            new.output[0] = f"{node.output[0]}.stored"
            self.shape[new.output[0]] = stored
        for old, name in zip(node.output, new.output, strict=True):
            if name:
                self.view[old] = name
                self.stored[name] = self.shape[name]
        self.written.append(new)

    def _shaped(self, name: str, shape: Shape) -> str:
        """Return the name of a tensor with the values of `name` and this shape."""
        if name in self.constants or not name:
            return name
        source = self.view[name]
        if self.stored[source] == shape:
            return source
        key = (source, shape)
        if key not in self.reshaped:
            text = "x".join(map(str, shape))
            self.reshaped[key] = f"{source}.{text}"
            target = self._constant(f"shape.{text}", np.array(shape, np.int64))
            self.written.append(helper.make_node("Reshape", [source, target], [self.reshaped[key]]))
        return self.reshaped[key]

    def _constant(self, name: str, array: np.ndarray | onnx.TensorProto) -> str:
        if isinstance(array, onnx.TensorProto):
            array = numpy_helper.to_array(array)
        self.constants[name] = array
        self.shape[name] = array.shape
        return name

    def _deliver(self, output: str) -> None:
        """Give an output of the graph its name and shape."""
        source = self._shaped(output, self.shape[output])
        if source == output:
            return
        if any(info.name == source for info in (*self.graph.input, *self.graph.output)):
            self.written.append(helper.make_node("Identity", [source], [output]))
            return
        for node in self.written:
            for names in (node.input, node.output):
                names[:] = [output if name == source else name for name in names]
        for old, name in self.view.items():
            if name == source:
                self.view[old] = output
        for key, name in self.reshaped.items():
            if name == source:
                self.reshaped[key] = output
        self.stored[output] = self.shape[output]


def _moved(transpose: onnx.NodeProto, shape: Shape) -> list[int]:
    """Return the axes longer than one, in their order after a transpose."""
    return [axis for axis in helper.get_node_attr_value(transpose, "perm") if shape[axis] != 1]


def _long(shape: Shape) -> Shape:
    """Return the lengths of the axes longer than one."""
    return tuple(length for length in shape if length != 1)


def _fixed(info: onnx.ValueInfoProto) -> Shape:
    return tuple(dim.dim_value for dim in info.type.tensor_type.shape.dim)

"""Count what an exported graph costs on any machine: operators, multiply-accumulates (MACs), state,
file size.

MACs are those of the graph's matrix products and convolutions, after folding; a model card counts
the network instead.
"""

from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path
from typing import Any

from ..errors import QseError
from ..extras import need
from . import Request
from .models import chosen, graphs
from .table import Column, Table

COLUMNS = (
    Column("model", "model"),
    Column("operators", "operators", ".0f"),
    Column("macs", "MMAC/s", ".1f", 1e-6),
    Column("state_bytes", "state KiB", ".1f", 1 / 1024),
    Column("model_bytes", "file KiB", ".1f", 1 / 1024),
)


@dataclass(frozen=True)
class GraphCost:
    """Operators, MACs per second of audio, bytes of all state tensors, bytes of the file."""

    operators: int
    macs: int
    state_bytes: int
    model_bytes: int


def bench(request: Request) -> Table:
    """Count the models of the request, or all trained ones."""
    with graphs(chosen(request.models)) as paths:
        rows = [{"model": name, **asdict(cost(path))} for name, path in paths.items()]
    return Table("graphs", COLUMNS, rows)


def cost(path: Path, grids: int = 1) -> GraphCost:
    """Return the cost of an exported streaming model that runs on so many grids of frames.

    MissingExtra if the package onnx is missing, QseError for a graph in which shapes are unknown.
    """
    onnx = need("onnx", "train")
    try:
        return _counted(onnx.shape_inference.infer_shapes(onnx.load(path)), path, grids)
    except (LookupError, RuntimeError, TypeError, ValueError) as error:
        raise QseError(
            f"{path}: its operators cannot be counted, as the shapes of some are unknown; "
            "export it again, `qse export`"
        ) from error


def _counted(model: Any, path: Path, grids: int) -> GraphCost:
    """Return the cost of a graph with its shapes. Raises exceptions of several kinds."""
    graph = model.graph
    metadata = {entry.key: entry.value for entry in model.metadata_props}
    shapes = {}
    for weight in graph.initializer:
        shapes[weight.name] = tuple(weight.dims)
    for info in (*graph.input, *graph.value_info, *graph.output):
        shapes[info.name] = tuple(size.dim_value for size in info.type.tensor_type.shape.dim)
    per_hop = 0
    for node in graph.node:
        per_hop += grids * _macs(node, shapes)
    numbers_in_state = 0
    for info in graph.input:
        if info.name.startswith("state."):
            numbers_in_state += prod(shapes[info.name])
    return GraphCost(
        operators=_operators(graph),
        macs=round(per_hop * int(metadata["sample_rate"]) / int(metadata["hop_length"])),
        state_bytes=4 * grids * numbers_in_state,
        model_bytes=Path(path).stat().st_size,
    )


def _macs(node: Any, shapes: dict[str, tuple[int, ...]]) -> int:
    if node.op_type == "Conv":  # one filter per output
        return prod(shapes[node.output[0]]) * prod(shapes[node.input[1]][1:])
    if node.op_type == "ConvTranspose":  # one filter per input
        return prod(shapes[node.input[0]]) * prod(shapes[node.input[1]][1:])
    if node.op_type in ("Gemm", "MatMul"):
        left = shapes[node.input[0]]
        transposed = any(attribute.name == "transA" and attribute.i for attribute in node.attribute)
        return prod(shapes[node.output[0]]) * left[-2 if transposed else -1]
    if node.op_type in ("GRU", "LSTM"):
        steps, batch, _ = shapes[node.input[0]]
        return steps * batch * (prod(shapes[node.input[1]]) + prod(shapes[node.input[2]]))
    return 0


def _operators(graph: Any) -> int:
    """Count the operators that depend on an input; the others are computed once, when the graph is
    loaded."""
    varying = {info.name for info in graph.input}
    count = 0
    for node in graph.node:  # in topological order
        if varying.intersection(node.input):
            varying.update(node.output)
            count += 1
    return count

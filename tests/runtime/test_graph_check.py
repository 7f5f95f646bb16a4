"""Graphs of unknown origin: what is refused, and what a graph that passes may take."""

import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import graphs
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

import qse
from qse.errors import QseError
from qse.runtime import graph_check, onnx_session
from qse.runtime.graph_check import Unfit, check_graph
from qse.runtime.onnx_session import metadata, open_session

MODELS = Path(__file__).parents[2] / "models"
STATUS = Path("/proc/self/status")


def identity(**changes) -> onnx.ModelProto:
    """A graph of one node, with parts added: to the graph, the node or the model."""
    value = helper.make_tensor_value_info(
        "audio", TensorProto.FLOAT, changes.get("shape", [1, 160])
    )
    out = helper.make_tensor_value_info("enhanced", TensorProto.FLOAT, [1, 160])
    node = helper.make_node(
        changes.get("operator", "Identity"), ["audio"], ["enhanced"], domain=changes.get("domain")
    )
    return helper.make_model(
        helper.make_graph([node] * changes.get("nodes", 1), "g", [value], [out])
    )


def external() -> onnx.ModelProto:
    model = identity()
    tensor = model.graph.initializer.add(name="w", dims=[4], data_type=TensorProto.FLOAT)
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="/etc/passwd")
    return model


def with_subgraph() -> onnx.ModelProto:
    model = identity()
    model.graph.node[0].attribute.append(helper.make_attribute("body", identity().graph))
    return model


def with_function() -> onnx.ModelProto:
    model = identity()
    model.functions.add(name="f", domain="")
    return model


def sparse() -> onnx.ModelProto:
    model = identity()
    model.graph.sparse_initializer.add(dims=[1 << 40])
    return model


REFUSED = {
    "a tensor is in another file": external,
    "a graph or a sparse tensor of its own": with_subgraph,
    "defines functions": with_function,
    "has sparse tensors": sparse,
    "the operator Loop": lambda: identity(operator="Loop"),
    "the domain com.evil": lambda: identity(domain="com.evil"),
    "more than 67108864 numbers": lambda: identity(shape=[1 << 20, 1 << 20]),
    "more than 20000 operators": lambda: identity(nodes=20001),
    "has 0 graphs": onnx.ModelProto,
}


@pytest.mark.parametrize("reason", REFUSED)
def test_check_graph_refuses(reason):
    with pytest.raises(Unfit, match=reason):
        check_graph(REFUSED[reason]().SerializeToString())


@pytest.mark.parametrize(
    "field", ["g", "graphs", "sparse_tensor", "sparse_tensors", "t", "tensors"]
)
def test_check_graph_refuses_parts_of_operators(field):
    model = identity()
    attribute = model.graph.node[0].attribute.add(name="part")
    part = getattr(attribute, field)
    if field in ("graphs", "sparse_tensors", "tensors"):
        part = part.add()
    part.SetInParent()
    reason = "an operator has a graph or a sparse tensor of its own"
    if isinstance(part, TensorProto):
        part.external_data.add(key="location", value="/etc/passwd")
        reason = "a tensor is in another file"
    with pytest.raises(Unfit, match=reason):
        check_graph(model.SerializeToString())


def test_a_field_whose_number_is_read_otherwise_elsewhere_is_damage():
    """ONNX Runtime keeps the lower 32 bits of a key: this one is that of an import (8), without a
    version, which it refuses; for readers that keep all bits it is an unknown field."""
    hidden = bytes([8 << 3 | 2 | 0x80, 0x80, 0x80, 0x80, 0x10, 0])
    data = identity().SerializeToString()
    with pytest.raises(IndexError):
        check_graph(data + hidden)
    check_graph(data + bytes([0xFA, 0xFF, 0xFF, 0xFF, 0x0F, 0]))  # the largest key


def test_check_graph_takes_as_many_numbers_as_it_says():
    out = 160
    assert check_graph(identity(shape=[1, (1 << 26) - out]).SerializeToString()) == 1
    with pytest.raises(Unfit):
        check_graph(identity(shape=[1, (1 << 26) - out + 1]).SerializeToString())


def test_check_graph_refuses_damage():
    # too long, no number, no message
    for data in (
        b"\x3a\xff\xff\xff\xff\x7f",
        b"\xff" * 20,
        b"\x38\x05",
        b"\x3b",
    ):
        with pytest.raises(IndexError):
            check_graph(data)


@pytest.mark.parametrize(
    "path", sorted(MODELS.glob("*/*.onnx")), ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_check_graph_counts_the_operators_of_released_graphs(path):
    assert check_graph(path.read_bytes()) == len(onnx.load(path).graph.node)


def test_load_names_what_is_refused(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(external().SerializeToString())
    with pytest.raises(
        qse.QseError, match=r"model\.onnx is not a model that qse runs: a tensor is in another file"
    ):
        qse.load(path)


@pytest.mark.parametrize(
    "key, value", [("sample_rate", "9" * 5000), ("sample_rate", "0"), ("latency", "99999999")]
)
def test_load_refuses_numbers_out_of_range(tmp_path, key, value):
    path = graphs.delay(tmp_path / "model.onnx")
    model = onnx.load(path)
    next(entry for entry in model.metadata_props if entry.key == key).value = value
    onnx.save(model, path)
    with pytest.raises(qse.QseError, match="not a model written by `qse export`"):
        qse.load(path)


def test_load_refuses_text_that_is_not_utf8(tmp_path):
    path = graphs.delay(tmp_path / "model.onnx", licence="QQQQ")
    path.write_bytes(path.read_bytes().replace(b"QQQQ", b"\xff\xff\xff\xff"))
    with pytest.raises(qse.QseError, match=r"model\.onnx cannot be loaded"):
        qse.load(path)


def test_load_refuses_a_graph_that_fails_at_its_first_step(tmp_path):
    """It looks up a row that its table does not have; which one follows from the audio."""
    nodes = [
        helper.make_node("ReduceMax", ["audio"], ["most"], keepdims=0),
        helper.make_node("Cast", ["most"], ["whole"], to=TensorProto.INT64),
        helper.make_node("Add", ["whole", "seven"], ["row"]),
        helper.make_node("Gather", ["table", "row"], ["found"], axis=0),
        helper.make_node("Add", ["audio", "found"], ["enhanced"]),
    ]
    constants = {"seven": np.array(7), "table": np.ones((3, 160), np.float32)}
    path = graphs.save(tmp_path / "model.onnx", nodes, constants, {})
    with pytest.raises(qse.QseError, match=r"model\.onnx cannot be run: .*export it again"):
        qse.load(path)


def hungry(path: Path, constant: bool) -> Path:
    """A graph that computes the sum of a matrix of 10^9 numbers, which it makes of two vectors."""
    column = np.ones((1 << 15, 1), np.float32)
    row = np.ones((1, 1 << 15), np.float32)
    nodes = (
        [] if constant else [helper.make_node("Slice", ["audio", "zero", "one", "one"], ["sample"])]
    )
    nodes += [] if constant else [helper.make_node("Mul", ["column", "sample"], ["columns"])]
    nodes += [
        helper.make_node("Add", ["column" if constant else "columns", "row"], ["matrix"]),
        helper.make_node("ReduceSum", ["matrix"], ["sum"], keepdims=0),
        helper.make_node("Mul", ["audio", "sum"], ["enhanced"]),
    ]
    zero = np.array([0])
    one = np.array([1])
    return graphs.save(path, nodes, {"column": column, "row": row, "zero": zero, "one": one}, {})


@pytest.mark.skipif(not STATUS.exists(), reason="reads the peak of a process's memory from /proc")
@pytest.mark.parametrize("constant", [True, False])
def test_load_bounds_the_memory_of_a_graph(tmp_path, constant):
    """In a process of its own, since the limit holds for a process."""
    import onnxruntime

    if constant and tuple(map(int, onnxruntime.__version__.split(".")[:2])) < (1, 31):
        pytest.skip("earlier versions of ONNX Runtime do not bound constants")
    path = hungry(tmp_path / "model.onnx", constant)
    code = f"""
from qse.runtime import graph_check, onnx_session
graph_check.MOST_MEMORY = 256 << 20
import qse
try:
    qse.load({str(path)!r})  # takes one step
    print("no limit")
except qse.QseError as error:
    print("limit" if "memory" in str(error) else error)
# not that of its parent
print(next(line.split()[1] for line in open({str(STATUS)!r}) if line.startswith("VmHWM")))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    said, kilobytes = done.stdout.split("\n")[:2]
    assert said == "limit" and int(kilobytes) < 1 << 20  # of 4 GiB that it asks for


def test_memory_limit_is_at_most_half_of_the_memory():
    total = (
        os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        if hasattr(os, "sysconf")
        else 1 << 40
    )
    assert 0 < graph_check.memory_limit() <= min(4 << 30, total // 2)


def test_load_refuses_a_graph_in_the_format_of_onnx_runtime(tmp_path):
    """It has no parts that could be checked."""
    plain = graphs.delay(tmp_path / "plain.onnx")
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "model.ort")
    options.add_session_config_entry("session.save_model_format", "ORT")
    ort.InferenceSession(str(plain), options)
    with pytest.raises(QseError, match=r"damaged or not ONNX|is not a model that qse runs"):
        open_session(tmp_path / "model.ort", 1)


@pytest.mark.parametrize("size", [graph_check.LARGEST, 3 << 30])
def test_a_file_of_zeros_is_refused_before_it_takes_memory(tmp_path, size):
    """It takes no place on a disk, and took half a gigabyte of memory."""
    path = tmp_path / "model.onnx"
    with path.open("wb") as file:
        file.truncate(size)
    tracemalloc.start()
    try:
        for reader in (lambda: open_session(path, 1), lambda: metadata(path)):
            with pytest.raises(QseError, match=r"model\.onnx (cannot be loaded|is not a model)"):
                reader()
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()


def test_a_graph_that_takes_long_to_check_is_refused(tmp_path, monkeypatch):
    """Fields of two bytes, of which there may be 250 million."""
    monkeypatch.setattr(onnx_session, "LOADING", 0.01)
    path = tmp_path / "model.onnx"
    path.write_bytes(b"\x08\x01" * 5_000_000)
    with pytest.raises(QseError, match="to load: choose another model"):
        open_session(path, 1)

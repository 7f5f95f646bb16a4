"""Check an ONNX graph of unknown origin before ONNX Runtime loads it, without the package onnx.

Refused are files above LARGEST bytes, graphs of more than NODES operators, inputs and outputs of
more than STATE numbers in all, operators outside the ONNX standard, control flow (loops would take
any time), functions, sparse tensors, and tensors in other files. The operators left neither run
code nor open files. What they compute may still be large, so `memory_limit` bounds the memory of
the tensors.

A file is read in the wire format of Protocol Buffers; the field numbers are those of onnx.proto.
"""

import os
from collections.abc import Iterator
from math import prod
from pathlib import Path

LARGEST = 1 << 29
NODES = 20_000
STATE = 1 << 26
MOST_MEMORY = 4 << 30  # bytes
FUNCTIONS = 25
GRAPH = 7
NODE = 1
TENSOR = 5
INPUTS = (11, 12)
SPARSE = 15
METADATA = 14
OPERATOR = 4
ATTRIBUTE = 5
DOMAIN = 7
SUBGRAPHS = (6, 11)
ATTRIBUTE_TENSORS = (5, 10)
SPARSE_ATTRIBUTES = (22, 23)
LARGEST_KEY = 1 << 32  # fields are numbered from 1; the lowest three bits say how they are stored
EXTERNAL = 13
LOCATION = 14
STANDARD = (b"", b"ai.onnx")
CONTROL = (b"If", b"Loop", b"Scan", b"SequenceMap")

Value = int | memoryview


class Unfit(ValueError):
    """The graph is not one that this library runs; the message says why."""


def read_graph(path: Path) -> bytes:
    """Return the content of the ONNX file at `path`.

    Its size and its first byte are looked at before it takes memory: a file of zeros, which takes
    no place on a disk, is none. Raises OSError, and as `check_graph`.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > LARGEST:
            raise Unfit(f"it is larger than {LARGEST >> 20} MiB")
        if not file.read(1).strip(b"\0"):
            raise IndexError
        file.seek(0)
        return file.read(size)


def check_graph(data: bytes) -> int:
    """Return the number of operators of the graph in `data`, the content of an ONNX file.

    Raises Unfit for what is refused, IndexError where the file is damaged or not ONNX.
    """
    if len(data) > LARGEST:
        raise Unfit(f"it is larger than {LARGEST >> 20} MiB")
    nodes = 0
    numbers = 0
    graphs = 0
    for field, value in _fields(memoryview(data)):
        if field == FUNCTIONS:
            raise Unfit("it defines functions")
        if field == GRAPH:
            graphs += 1
            found = _check_parts(_message(value))
            nodes = nodes + found[0]
            numbers = numbers + found[1]
    if graphs != 1:
        raise Unfit(f"it has {graphs} graphs, and not one")
    if nodes > NODES:
        raise Unfit(f"it has more than {NODES} operators")
    if numbers > STATE:
        raise Unfit(f"its inputs and outputs hold more than {STATE} numbers")
    return nodes


def metadata_of(data: bytes) -> dict[str, str]:
    """Return the metadata of the graph in `data`, {} where the file is damaged or not ONNX."""
    found = {}
    try:
        for field, value in _fields(memoryview(data)):
            if field == METADATA:
                entry = dict(_fields(_message(value)))
                key = bytes(_message(entry[1])).decode(errors="replace")
                found[key] = bytes(_message(entry[2])).decode(errors="replace")
    except (IndexError, KeyError):
        return {}
    return found


def memory_limit() -> int:
    """Return the bytes that the tensors of graphs of unknown origin may take: half of the memory, 4
    GiB at most."""
    try:
        return min(MOST_MEMORY, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
    except (AttributeError, ValueError, OSError):  # not on this system
        return MOST_MEMORY


def _check_parts(graph: memoryview) -> tuple[int, int]:
    """Check operators and tensors; return the number of operators, and of the numbers in inputs and
    outputs."""
    nodes = 0
    numbers = 0
    for field, value in _fields(graph):
        if field == NODE:
            nodes += 1
            _check_node(_message(value))
        elif field == TENSOR:
            _check_tensor(_message(value))
        elif field == SPARSE:
            raise Unfit("it has sparse tensors")
        elif field in INPUTS:
            numbers += _size(_message(value))
    return nodes, numbers


def _check_node(node: memoryview) -> None:
    for field, value in _fields(node):
        if field == DOMAIN and _message(value) not in STANDARD:
            raise Unfit(
                f"it has an operator of the domain {_text(value)}, "
                "which is not of the ONNX standard"
            )
        if field == OPERATOR and _message(value) in CONTROL:
            raise Unfit(f"it has the operator {_text(value)}, which controls the flow")
        if field == ATTRIBUTE:
            for kind, content in _fields(_message(value)):
                if kind in SUBGRAPHS or kind in SPARSE_ATTRIBUTES:
                    raise Unfit("an operator has a graph or a sparse tensor of its own")
                if kind in ATTRIBUTE_TENSORS:
                    _check_tensor(_message(content))


def _check_tensor(tensor: memoryview) -> None:
    for field, value in _fields(tensor):
        if field == EXTERNAL or (field == LOCATION and value):
            raise Unfit("a tensor is in another file")


def _size(value_info: memoryview) -> int:
    """Return the numbers in an input or output: the product of its dimensions, those without a
    number left out."""
    messages = [value_info]
    for number in (2, 1, 2, 1):  # ValueInfoProto.type.tensor_type.shape.dim
        messages = list(map(_message, _of_number(messages, number)))
    sizes = _of_number(messages, 1)  # dim.dim_value
    return prod(value for value in sizes if isinstance(value, int))


def _of_number(messages: list[memoryview], number: int) -> list[Value]:
    """Return the fields of this number in all messages."""
    found = []
    for message in messages:
        for field, value in _fields(message):
            if field == number:
                found.append(value)
    return found


def _text(value: Value) -> str:
    return bytes(_message(value)[:40]).decode(errors="replace")


def _message(value: Value) -> memoryview:
    """Return a field that holds bytes. Raises IndexError for one that holds a number."""
    if isinstance(value, int):
        raise IndexError
    return value


def _fields(data: memoryview) -> Iterator[tuple[int, Value]]:
    """Yield number and value of each field of a message. Raises IndexError where it is damaged."""
    at = 0
    end = len(data)
    while at < end:
        key, at = _varint(data, at)
        if not 8 <= key < LARGEST_KEY:  # ONNX Runtime would read the lower bits of a larger one
            raise IndexError
        wire = key & 7
        if wire == 0:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        size, at = _varint(data, at) if wire == 2 else ({1: 8, 5: 4}.get(wire, end), at)
        if size > end - at:
            raise IndexError
        yield key >> 3, data[at : at + size]
        at += size


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """Return the number that begins at `at`, and where it ends."""
    value = 0
    shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at = at + 1
        shift = shift + 7
        if byte < 0x80:
            return value, at
        if shift > 63:
            raise IndexError

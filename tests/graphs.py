"""Small exported models, made by hand with onnx.helper: graphs that do something a test can
predict."""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HOP = 160
LATENCY = 160
SAMPLE_RATE = 16000


def save(
    path: Path,
    nodes: list,
    constants: dict,
    state: dict[str, list[int]],
    many: bool = False,
    **metadata,
) -> Path:
    """Write a graph whose nodes lead from `audio` and `state.<name>` to `enhanced` and
    `next.<name>`; `many`: of many streams, whose number is free."""
    hop = int(metadata.get("hop_length", HOP))

    def value(name, shape):
        free = ["streams", *shape[1:]] if many else shape
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, free)

    inputs = [
        value("audio", [1, hop]),
        *(value(f"state.{name}", shape) for name, shape in state.items()),
    ]
    outputs = [
        value("enhanced", [1, hop]),
        *(value(f"next.{name}", shape) for name, shape in state.items()),
    ]
    weights = [
        numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()
    ]
    graph = helper.make_graph(nodes, "step", inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    defaults = {
        "name": path.parent.name,
        "version": "1",
        "sample_rate": SAMPLE_RATE,
        "hop_length": hop,
    }
    metadata = {**defaults, "latency": LATENCY, "params": 0, "licence": "CC0-1.0", **metadata}
    helper.set_model_props(model, {key: str(text) for key, text in metadata.items()})
    onnx.checker.check_model(model)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, path)
    return path


def delay(path: Path, latency: int = LATENCY, **metadata) -> Path:
    """The perfect enhancer of clean speech: `enhanced` is `audio`, `latency` samples later."""
    hop = int(metadata.get("hop_length", HOP))
    constants = {
        "zero": np.array([0]),
        "hop": np.array([hop]),
        "end": np.array([hop + latency]),
        "axis": np.array([1]),
    }
    nodes = [
        helper.make_node("Concat", ["state.past", "audio"], ["line"], axis=1),
        helper.make_node("Slice", ["line", "zero", "hop", "axis"], ["enhanced"]),
        helper.make_node("Slice", ["line", "hop", "end", "axis"], ["next.past"]),
    ]
    return save(path, nodes, constants, {"past": [1, latency]}, latency=latency, **metadata)


def recurrent(path: Path, **metadata) -> Path:
    """Two memories that never quite forget: h' = tanh(0.9 h W + x), g' = 0.95 g + 0.05 h', enhanced
    = x + g'.

    As it is not linear and W mixes the hop's samples, one sample more or less, or a state lost,
    changes all that follows. Its latency is 0.
    """
    mix = np.linalg.qr(np.random.default_rng(0).standard_normal((HOP, HOP)))[0].astype(np.float32)
    constants = {"mix": 0.9 * mix, "slow": np.float32(0.95), "fast": np.float32(0.05)}
    nodes = [
        helper.make_node("MatMul", ["state.h", "mix"], ["turned"]),
        helper.make_node("Add", ["turned", "audio"], ["sum"]),
        helper.make_node("Tanh", ["sum"], ["next.h"]),
        helper.make_node("Mul", ["state.g", "slow"], ["kept"]),
        helper.make_node("Mul", ["next.h", "fast"], ["added"]),
        helper.make_node("Add", ["kept", "added"], ["next.g"]),
        helper.make_node("Add", ["audio", "next.g"], ["enhanced"]),
    ]
    return save(path, nodes, constants, {"h": [1, HOP], "g": [1, HOP]}, latency=0, **metadata)


def fragile(path: Path, **metadata) -> Path:
    """s' = s + x, enhanced = x + 0 * sqrt(1 - s'): once a sum passes 1, NaN until the state is
    forgotten."""
    constants = {"one": np.float32(1), "none": np.float32(0)}
    nodes = [
        helper.make_node("Add", ["state.sum", "audio"], ["next.sum"]),
        helper.make_node("Sub", ["one", "next.sum"], ["left"]),
        helper.make_node("Sqrt", ["left"], ["root"]),
        helper.make_node("Mul", ["root", "none"], ["nothing"]),
        helper.make_node("Add", ["audio", "nothing"], ["enhanced"]),
    ]
    return save(path, nodes, constants, {"sum": [1, HOP]}, latency=0, **metadata)


def talker(folder: Path) -> Path:
    """A model that keeps one talker, for both bands: enhanced = x (1 + scale) + shift, for hops x
    as (bands, 80); the scale that belongs to a talker is the mean of x, the shift is 0."""
    for name, bands, rate in (("model", 2, 16000), ("model-48k", 6, 48000)):
        shape = [bands, 80]
        size = 80 * bands
        constants = {
            "one": np.float32(1),
            "bands": np.array(shape),
            "hop": np.array([1, size]),
        }
        nodes = [
            helper.make_node("Reshape", ["audio", "bands"], ["next.mixer.time"]),
            helper.make_node("Add", ["state.mixer.scale", "one"], ["gain"]),
            helper.make_node("Mul", ["next.mixer.time", "gain"], ["scaled"]),
            helper.make_node("Add", ["scaled", "state.mixer.shift"], ["shifted"]),
            helper.make_node("Reshape", ["shifted", "hop"], ["enhanced"]),
            helper.make_node("Identity", ["state.mixer.scale"], ["next.mixer.scale"]),
            helper.make_node("Identity", ["state.mixer.shift"], ["next.mixer.shift"]),
        ]
        state = {"mixer.time": shape, "mixer.scale": shape, "mixer.shift": shape}
        about = {"hop_length": size, "sample_rate": rate, "latency": 0}
        save(folder / f"{name}.onnx", nodes, constants, state, **about)
    talkers(folder / "talker.onnx")
    return folder


def talkers(
    path: Path, names=("time", "scale", "shift"), bands: int = 2, operator: str = "Sub"
) -> Path:
    """The graph of talkers beside that model: the first state's mean is the entry of the second,
    and `operator` of it and itself that of the third."""
    mean, scale, shift = (
        helper.make_tensor_value_info(f"state.mixer.{name}", TensorProto.FLOAT, [bands, 80])
        for name in names
    )
    nodes = [
        helper.make_node("Identity", [mean.name], [scale.name]),
        helper.make_node(operator, [mean.name, mean.name], [shift.name]),
    ]
    graph = helper.make_graph(nodes, "talker", [mean], [scale, shift])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return path

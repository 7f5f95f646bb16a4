"""One small streaming network, exported once: metadata, state, agreement with torch, refusals."""

import copy
import functools
import shutil

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import cheating_mixers
import onnx
from small_networks import offline, streaming

from qse.errors import QseError
from qse.export import streaming as export
from qse.export.lowering import lower
from qse.export.real_form import reals
from qse.networks.enrolment import beginning, describe, mean_states
from qse.nn.state import flatten_state
from qse.runtime.engine import Engine

ABOUT = {"name": "tiny", "version": "1.2", "licence": "CC0-1.0"}


@pytest.fixture
def quick(exported, monkeypatch):
    """Replace the exporter by a copy of the graph that there is already, and shorten the
    comparison."""
    monkeypatch.setattr(export, "disagreement", functools.partial(export.disagreement, seconds=2.5))
    monkeypatch.setattr(
        torch.onnx, "export", lambda model, arguments, path, **_: shutil.copyfile(exported, path)
    )


def test_export_stream_writes_one_file_with_metadata(exported, network):
    assert [path.name for path in exported.parent.iterdir()] == ["model.onnx"]
    engine = Engine(exported)
    params = sum(parameter.numel() for parameter in network.parameters())
    sizes = {"sample_rate": "16000", "hop_length": "32", "latency": "32", "params": str(params)}
    assert engine.metadata == {**ABOUT, **sizes}
    assert (engine.name, engine.sample_rate, engine.hop_length, engine.latency) == (
        "tiny",
        16000,
        32,
        32,
    )


def test_export_stream_records_nothing_of_the_machine(exported):
    assert b".py" not in exported.read_bytes()


def test_export_stream_state_names_and_shapes(exported, network):
    graph = onnx.load(exported).graph
    state = flatten_state(lower(network)(torch.zeros(1, 32))[1])

    def shapes(values):
        types = [value.type.tensor_type for value in values]
        assert all(kind.elem_type == onnx.TensorProto.FLOAT for kind in types)
        found = []
        for kind in types:
            found.append([size.dim_value for size in kind.shape.dim])
        return found

    assert [node.name for node in graph.input] == ["audio", *(f"state.{key}" for key in state)]
    assert [node.name for node in graph.output] == ["enhanced", *(f"next.{key}" for key in state)]
    assert (
        shapes(graph.input)
        == shapes(graph.output)
        == [[1, 32], *(list(leaf.shape) for leaf in state.values())]
    )


@torch.no_grad()
def test_export_stream_state_names_mirror_the_module_tree(exported, network):
    state = flatten_state(network(torch.zeros(1, 32))[1])
    assert list(Engine(exported).initial_state()) == [f"state.{path}" for path in state]


@torch.no_grad()
def test_export_stream_graph_equals_torch(exported, network):
    engine = Engine(exported)
    hops = 0.3 * np.random.default_rng(0).standard_normal((60, 32)).astype(np.float32)
    expected, _ = network(torch.from_numpy(hops).view(1, -1))
    _, end = lower(network)(torch.from_numpy(hops).view(1, -1))
    state = engine.initial_state()
    found = []
    for hop in hops:
        enhanced, state = engine.step(hop, state)
        found.append(enhanced)
    assert np.abs(np.concatenate(found) - expected[0].numpy()).max() < 1e-5
    assert np.abs(np.concatenate(found)[32:] - hops.ravel()[:-32]).max() > 1e-3  # it does something
    for path, leaf in flatten_state(end).items():
        np.testing.assert_allclose(state[f"state.{path}"], leaf.numpy(), rtol=0, atol=1e-4)


def test_export_stream_graph_keeps_silence(exported):
    engine = Engine(exported)
    rng = np.random.default_rng(0)
    state = engine.initial_state()
    silence = np.zeros(32, np.float32)
    for n in range(300):
        hop = 0.5 * rng.standard_normal(32).astype(np.float32) if 50 <= n < 100 else silence
        enhanced, state = engine.step(hop, state)
        assert np.isfinite(enhanced).all() and all(
            np.isfinite(leaf).all() for leaf in state.values()
        )
        if n < 50 or n > 102:
            assert not enhanced.any()


def test_disagreement_tells_networks_apart(exported, network):
    assert export.disagreement(network, exported, seconds=2.5) < export.TOLERANCE
    assert export.disagreement(perturbed(network), exported, seconds=2.5) > export.TOLERANCE


def perturbed(network):
    """Return a copy with the head's bias off by a thousandth."""
    other = copy.deepcopy(network)
    other.decoder.head.bias.data += 1e-3
    return other


class FromOnes(torch.nn.Module):
    """A network of which the bottleneck begins with a state of ones."""

    def __init__(self, network):
        super().__init__()
        self.network = network
        self.config = network.config

    def forward(self, audio):
        _, state = self.network(0 * audio[:, :32])
        blocks = state["bottleneck"]
        blocks["block0"] = torch.ones_like(blocks["block0"])
        return self.network(audio, state)


def test_disagreement_sees_a_wrong_beginning(exported, network):
    """A leading second of digital silence would hide it."""
    assert export.disagreement(FromOnes(network), exported, seconds=2.5) > 100 * export.TOLERANCE


@pytest.mark.parametrize("cheat", cheating_mixers.CHEATS, ids=lambda cheat: cheat.__name__)
def test_export_stream_refuses_what_breaks_a_law(cheat, tmp_path):
    law = cheating_mixers.CHEATS[cheat]
    sentence = "model.onnx: not written, " + cheating_mixers.refusal(cheat, law)
    with pytest.raises(QseError, match=sentence):
        cheating = streaming(time_mixer=(cheating_mixers.name(cheat),))
        export.export_stream(cheating, tmp_path / "model.onnx", **ABOUT)
    assert not list(tmp_path.iterdir())


def test_export_stream_replaces_an_old_graph(quick, network, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(b"old")
    export.export_stream(network, path, name="new", version="2")
    assert Engine(path).name == "new" and [file.name for file in tmp_path.iterdir()] == [
        "model.onnx"
    ]


def test_export_stream_refuses_a_graph_that_disagrees(quick, network, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(b"old")
    with pytest.raises(
        QseError, match=r"model.onnx: not written, ONNX Runtime and torch differ by .*e-0"
    ):
        export.export_stream(perturbed(network), path, **ABOUT)
    assert path.read_bytes() == b"old" and [file.name for file in tmp_path.iterdir()] == [
        "model.onnx"
    ]


@pytest.mark.parametrize("where", ["at the beginning", "later"])
def test_export_stream_refuses_a_graph_that_is_not_finite(
    quick, network, tmp_path, monkeypatch, where
):
    step = Engine.step

    def spoiled(engine, hop, state):
        fresh = not any(leaf.any() for leaf in state.values())
        enhanced, after = step(engine, hop, state)
        silent = not hop.any() and fresh == (where == "at the beginning")
        return (enhanced * np.float32("nan") if silent else enhanced), after

    monkeypatch.setattr(Engine, "step", spoiled)
    with pytest.raises(QseError, match="differ by nan"):
        export.export_stream(network, tmp_path / "model.onnx", **ABOUT)
    assert not list(tmp_path.iterdir())


def test_export_stream_leaves_nothing_when_torch_fails(network, tmp_path, monkeypatch):
    def broken(model, arguments, path, **_):
        path.write_bytes(b"half")
        raise RuntimeError("no such operator")

    monkeypatch.setattr(torch.onnx, "export", broken)
    with pytest.raises(RuntimeError):
        export.export_stream(network, tmp_path / "model.onnx", **ABOUT)
    assert not list(tmp_path.iterdir())


def test_export_stream_refuses_networks_that_cannot_stream(tmp_path):
    with pytest.raises(QseError, match="needs whole recordings and cannot stream"):
        export.export_stream(offline("qtn"), tmp_path / "model.onnx", **ABOUT)


def test_export_stream_leaves_the_network_unchanged(exported, network):
    assert isinstance(network.encoder.down1.norm, torch.nn.BatchNorm2d)
    assert all(parameter.requires_grad for parameter in network.parameters())


def test_export_stream_of_other_layers_and_algebras(tmp_path, monkeypatch):
    """`export_stream` refuses to write a graph that differs from torch."""
    monkeypatch.setattr(export, "disagreement", functools.partial(export.disagreement, seconds=2.5))
    other = streaming(time_mixer=("lru",), algebra="phm", attention="hamilton")
    export.export_stream(other, tmp_path / "model.onnx", name="small", version="0")
    assert (tmp_path / "model.onnx").exists()


@torch.no_grad()
def test_export_stream_of_a_network_that_adapts_to_a_talker(tmp_path, monkeypatch):
    """The talker is an entry of the graph's state, found by the states of the graph as well."""
    monkeypatch.setattr(export, "disagreement", functools.partial(export.disagreement, seconds=2.5))
    network = streaming(talker=True)
    torch.nn.init.normal_(network.talker.entries["block0"].weight, std=0.1)
    path = tmp_path / "talker.onnx"
    export.export_stream(network, path, **ABOUT)
    engine = Engine(path)
    rng = np.random.default_rng(0)
    speech, noisy = 0.3 * rng.standard_normal((2, 40, 32)).astype(np.float32)
    state = engine.initial_state()
    heard = []
    for hop in speech:
        _, state = engine.step(hop, state)
        heard.append(state["state.bottleneck.block0.time"])
    audio = torch.from_numpy(speech).view(1, -1)
    means, _ = mean_states(network, audio)
    np.testing.assert_allclose(np.mean(heard, 0), reals(means["block0"][0]), atol=1e-5)
    entries = describe(network, audio)
    expected, _ = network(torch.from_numpy(noisy).view(1, -1), beginning(network, entries))
    begin = {}
    for name, entry in zip(("scale", "shift"), entries["block0"][0], strict=True):
        begin[f"state.bottleneck.block0.{name}"] = reals(entry).numpy()
    state = {**engine.initial_state(), **begin}
    found = []
    for hop in noisy:
        enhanced, state = engine.step(hop, state)
        found.append(enhanced)
    assert np.abs(np.concatenate(found) - expected[0].numpy()).max() < 1e-5
    plain, _ = network(torch.from_numpy(noisy).view(1, -1))
    assert np.abs((plain - expected).numpy()).max() > 1e-3
    for name, entry in begin.items():
        np.testing.assert_array_equal(state[name], entry)

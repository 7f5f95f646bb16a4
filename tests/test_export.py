"""One small network, exported once: what its graph says, that it computes what torch does, and what is refused."""

import copy
import functools
import shutil

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import onnx

from qse.errors import QseError
from qse.export import streaming as export
from qse.export.lowering import fold
from qse.networks.streaming import StreamingConfig, StreamingEnhancer
from qse.nn.quaternion import hamilton_matrix
from qse.nn.state import flatten_state
from qse.runtime.engine import Engine

TINY = StreamingConfig(
    n_fft=64, hop_length=32, ranges=((32, 2),), channels=(2, 2, 4), growth=2, dilations=(1, 2), blocks=1, heads=2
)
ABOUT = {"name": "tiny", "version": "1.2", "licence": "CC0-1.0"}


@pytest.fixture(scope="module")
def network():
    """With biases, gains, statistics and a head as after some training."""
    torch.manual_seed(0)
    live = StreamingEnhancer(TINY)
    with torch.no_grad():
        for parameter in live.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
        for name, buffer in live.named_buffers():
            if "running" in name:
                buffer.copy_(0.5 + torch.rand_like(buffer))
    return live.eval()


@pytest.fixture(scope="module")
def exported(network, tmp_path_factory):
    path = tmp_path_factory.mktemp("exported") / "model.onnx"
    export.export_stream(network, path, **ABOUT)
    return path


@pytest.fixture
def quick(exported, monkeypatch):
    """An exporter that always writes the graph that there is already, and a shorter comparison."""
    monkeypatch.setattr(export, "disagreement", functools.partial(export.disagreement, seconds=2.5))
    monkeypatch.setattr(torch.onnx, "export", lambda model, arguments, path, **_: shutil.copyfile(exported, path))


def test_the_graph_is_one_file_and_says_what_it_is(exported, network):
    assert [path.name for path in exported.parent.iterdir()] == ["model.onnx"]
    engine = Engine(exported)
    params = sum(parameter.numel() for parameter in network.parameters())
    sizes = {"sample_rate": "16000", "hop_length": "32", "latency": "32", "params": str(params)}
    assert engine.metadata == {**ABOUT, **sizes}
    assert (engine.name, engine.sample_rate, engine.hop_length, engine.latency) == ("tiny", 16000, 32, 32)


def test_the_graph_tells_nothing_of_the_machine_that_wrote_it(exported):
    assert b".py" not in exported.read_bytes()


def test_the_graph_takes_and_gives_state_by_name_in_one_order(exported, network):
    graph = onnx.load(exported).graph
    state = flatten_state(fold(network)(torch.zeros(1, 32))[1])

    def shapes(values):
        types = [value.type.tensor_type for value in values]
        assert all(kind.elem_type == onnx.TensorProto.FLOAT for kind in types)
        return [[size.dim_value for size in kind.shape.dim] for kind in types]

    assert [node.name for node in graph.input] == ["audio", *(f"state.{key}" for key in state)]
    assert [node.name for node in graph.output] == ["enhanced", *(f"next.{key}" for key in state)]
    assert shapes(graph.input) == shapes(graph.output) == [[1, 32], *(list(leaf.shape) for leaf in state.values())]


@torch.no_grad()
def test_the_graph_computes_what_torch_does(exported, network):
    engine, hops = Engine(exported), 0.3 * np.random.default_rng(0).standard_normal((60, 32)).astype(np.float32)
    whole, _ = network(torch.from_numpy(hops).view(1, -1))
    _, end = fold(network)(torch.from_numpy(hops).view(1, -1))
    state, found = engine.initial_state(), []
    for hop in hops:
        enhanced, state = engine.step(hop, state)
        found.append(enhanced)
    assert np.abs(np.concatenate(found) - whole[0].numpy()).max() < 1e-5
    assert np.abs(np.concatenate(found)[32:] - hops.ravel()[:-32]).max() > 1e-3  # it does something
    for path, leaf in flatten_state(end).items():
        np.testing.assert_allclose(state[f"state.{path}"], leaf.numpy(), rtol=0, atol=1e-4)


def test_silence_stays_silent_and_finite(exported):
    engine, rng = Engine(exported), np.random.default_rng(0)
    state, silence = engine.initial_state(), np.zeros(32, np.float32)
    for n in range(300):
        hop = 0.5 * rng.standard_normal(32).astype(np.float32) if 50 <= n < 100 else silence
        enhanced, state = engine.step(hop, state)
        assert np.isfinite(enhanced).all() and all(np.isfinite(leaf).all() for leaf in state.values())
        if n < 50 or n > 102:
            assert not enhanced.any()


def test_disagreement_is_small_for_the_network_and_large_for_another(exported, network):
    assert export.disagreement(network, exported, seconds=2.5) < export.TOLERANCE
    assert export.disagreement(perturbed(network), exported, seconds=2.5) > export.TOLERANCE


def perturbed(network):
    """The head's bias off by a thousandth."""
    other = copy.deepcopy(network)
    other.decoder.head.bias.data += 1e-3
    return other


def test_a_graph_that_agrees_takes_the_place_of_the_old_one(quick, network, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(b"old")
    export.export_stream(network, path, name="new", version="2")
    assert Engine(path).name == "new" and [file.name for file in tmp_path.iterdir()] == ["model.onnx"]


def test_a_graph_that_disagrees_is_not_written(quick, network, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(b"old")
    with pytest.raises(QseError, match=r"model.onnx: not written, ONNX Runtime and torch differ by .*e-0"):
        export.export_stream(perturbed(network), path, **ABOUT)
    assert path.read_bytes() == b"old" and [file.name for file in tmp_path.iterdir()] == ["model.onnx"]


@pytest.mark.parametrize("where", ["at the beginning", "later"])
def test_a_graph_that_is_not_finite_on_silence_is_not_written(quick, network, tmp_path, monkeypatch, where):
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


def test_an_exporter_that_fails_leaves_nothing(network, tmp_path, monkeypatch):
    def broken(model, arguments, path, **_):
        path.write_bytes(b"half")
        raise RuntimeError("no such operator")

    monkeypatch.setattr(torch.onnx, "export", broken)
    with pytest.raises(RuntimeError):
        export.export_stream(network, tmp_path / "model.onnx", **ABOUT)
    assert not list(tmp_path.iterdir())


def test_a_network_that_cannot_stream_is_refused(tmp_path):
    with pytest.raises(QseError, match="Linear needs whole recordings and cannot stream"):
        export.export_stream(torch.nn.Linear(2, 2), tmp_path / "model.onnx", **ABOUT)


def test_exporting_leaves_the_network_as_it_was(exported, network):
    assert isinstance(network.encoder.down1.norm, torch.nn.BatchNorm2d)
    assert all(parameter.requires_grad for parameter in network.parameters())


def test_a_layer_works_after_it_was_traced():
    class Matrix(torch.nn.Module):
        def forward(self, weight):
            return hamilton_matrix(weight)

    weight = torch.ones(4, 1, 1, dtype=torch.bfloat16)  # a type that no other test uses
    torch.export.export(Matrix(), (weight,), strict=False)
    assert type(hamilton_matrix(weight)) is torch.Tensor


def test_speech_like_audio_is_the_same_every_time_and_within_full_scale():
    audio = export.speech_like(16000, 16000)
    assert audio.dtype == np.float32 and audio.shape == (16000,) and np.abs(audio).max() == pytest.approx(0.5)
    assert np.array_equal(audio, export.speech_like(16000, 16000))
    assert not np.array_equal(audio, export.speech_like(16000, 16000, seed=1))

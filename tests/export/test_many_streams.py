"""A small streaming network, exported for many streams: interface, agreement, refusals."""

import os
import shutil
import stat

import numpy as np
import onnx
import pytest

torch = pytest.importorskip("torch")

from small_networks import offline
from small_training import CONFIG

from qse.errors import QseError
from qse.export import many_streams as export
from qse.export.many_streams import add_many_streams, disagreement, export_many_streams
from qse.integrations.stream_group import StreamGroup
from qse.networks import TwoGrids
from qse.runtime.checksums import seal
from qse.runtime.engine import Engine
from qse.runtime.many_streams import ManyStreams
from qse.runtime.stream import Stream
from qse.train import checkpoint
from qse.train.recipe import write_config

ABOUT = {"name": "tiny", "version": "1.2"}


@pytest.fixture(scope="module")
def for_many(network, tmp_path_factory):
    path = tmp_path_factory.mktemp("many") / "model-streams.onnx"
    export_many_streams(network, path, **ABOUT)
    return path


def test_graph_of_many_streams_describes_itself(for_many, network):
    graph = ManyStreams(for_many)
    assert (graph.name, graph.version, graph.sample_rate) == ("tiny", "1.2", 16000)
    assert (graph.hop_length, graph.latency) == (network.config.hop_length, network.latency)
    assert [path.name for path in for_many.parent.iterdir()] == ["model-streams.onnx"]
    for info in (*onnx.load(for_many).graph.input, *onnx.load(for_many).graph.output):
        first, numbers = info.type.tensor_type.shape.dim
        assert first.dim_param == "streams" and numbers.dim_value > 0


@pytest.mark.parametrize("count", [1, 2, 5])
def test_graph_of_many_streams_equals_that_of_one(for_many, exported, count):
    many = ManyStreams(for_many)
    engine = Engine(exported)
    noisy = np.random.default_rng(count).standard_normal((40, count, many.hop_length))
    noisy = (0.3 * noisy).astype(np.float32)
    states = {}
    for name, zero in many.initial_state().items():
        states[name] = np.repeat(zero, count, axis=0)
    singles = [engine.session() for _ in range(count)]
    for hops in noisy:
        enhanced, states = many.step(hops, states)
        wanted = [single.step(hop).copy() for single, hop in zip(singles, hops, strict=True)]
        assert np.abs(enhanced - np.stack(wanted)).max() < 1e-6


def test_export_of_many_streams_refuses_a_graph_that_differs(network, tmp_path, monkeypatch):
    path = tmp_path / "model-streams.onnx"
    path.write_bytes(b"former")
    monkeypatch.setattr(export, "disagreement", lambda *_: 1e-3)
    with pytest.raises(QseError, match=r"differ by 1\.0e-03"):
        export_many_streams(network, path, **ABOUT)
    assert path.read_bytes() == b"former"


def test_disagreement_notices_another_network(for_many, network):
    assert disagreement(network, for_many, 0.2) < 1e-5
    with torch.no_grad():
        changed = dict(network.named_parameters())
        name, weight = next((n, w) for n, w in changed.items() if "head" in n)
        weight.mul_(1.01)
    try:
        assert disagreement(network, for_many, 0.2) > 1e-5, name
    finally:
        with torch.no_grad():
            weight.div_(1.01)


@pytest.mark.parametrize("wrong", ["offline", "two grids"])
def test_export_of_many_streams_needs_a_network_that_streams_on_one_grid(network, tmp_path, wrong):
    other = offline("qtn") if wrong == "offline" else TwoGrids(network)
    with pytest.raises(QseError, match="streams, on one grid"):
        export_many_streams(other, tmp_path / "model.onnx", **ABOUT)
    assert not list(tmp_path.iterdir())


def test_engine_names_a_graph_of_many_streams_as_another_one(for_many):
    with pytest.raises(QseError, match="not a streaming model"):
        Engine(for_many)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_many_streams_of_a_private_model_are_private(network, exported, tmp_path):
    write_config(tmp_path / "config.toml", CONFIG, network)
    checkpoint.save(tmp_path / "weights.safetensors", network.state_dict(), {"step": "1"}, None)
    (tmp_path / "weights.safetensors").chmod(0o600)
    shutil.copyfile(exported, tmp_path / "model.onnx")
    add_many_streams(tmp_path)
    assert stat.S_IMODE((tmp_path / "model-streams.onnx").stat().st_mode) == 0o600


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_a_graph_is_no_more_readable_than_its_source_from_the_beginning(network, tmp_path):
    (source := tmp_path / "weights").touch(0o600)
    export_many_streams(network, tmp_path / "model.onnx", **ABOUT, source=source)
    assert stat.S_IMODE((tmp_path / "model.onnx").stat().st_mode) == 0o600


def test_many_streams_are_added_to_a_model_folder(network, exported, tmp_path):
    folder = tmp_path / "tiny"
    write_config(folder / "config.toml", CONFIG, network)
    checkpoint.save(folder / "weights.safetensors", network.state_dict(), {"step": "1"}, None)
    shutil.copyfile(exported, folder / "model.onnx")
    seal(folder)
    add_many_streams(folder)
    assert "model-streams.onnx" in (folder / "SHA256SUMS").read_text()
    group = StreamGroup(folder)
    stream = group.open(16000)
    signal = (0.1 * np.random.default_rng(0).standard_normal(960)).astype(np.float32)
    wanted = Stream(Engine(exported), 16000).process(signal)
    assert np.abs(group.process({stream: signal})[stream] - wanted).max() < 1e-6

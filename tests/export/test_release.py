"""Released model folders: weights, card, and agreement of the graph with the network."""

import os
import shutil
import stat
from dataclasses import replace
from functools import partial

import graphs
import numpy as np
import pytest

torch = pytest.importorskip("torch")

import soundfile
from small_training import CONFIG, LOSS, PLAN, TINY, job, lines

import qse
from qse.errors import QseError
from qse.export import graphs as graphs_module
from qse.export import release as release_module
from qse.export.card import CardOptions
from qse.export.graphs import GraphForm
from qse.export.release import release
from qse.model_folder import weights_of
from qse.networks import weights
from qse.networks.two_grids import TwoGrids
from qse.networks.weights import load_network
from qse.train import checkpoint
from qse.train.recipe import RunConfig
from qse.train.run import train
from qse.train.stateful_training import TrainingLoss


@pytest.fixture(autouse=True)
def short_measurement(monkeypatch):
    """Time a model for a twentieth of a second of audio instead of ten seconds."""
    monkeypatch.setattr(
        release_module, "measure_cost", partial(release_module.measure_cost, seconds=0.05)
    )


@pytest.fixture
def without_export(monkeypatch):
    """Write a constant graph where a test reads only weights and card: export takes ten seconds."""
    monkeypatch.setattr(
        graphs_module, "export_stream", lambda network, path, **_: graphs.delay(path)
    )


@pytest.fixture(scope="module")
def run_that_looks_ahead(training_audio, tmp_path_factory):
    """A short run of a network that looks two frames ahead."""
    model = {**TINY, "look_ahead": 2, "look_ahead_blocks": (0,)}
    plan = replace(PLAN, steps=2, look_ahead=(0, 2))
    out = tmp_path_factory.mktemp("runs") / "ahead"
    train(RunConfig(model, CONFIG.mix, LOSS, plan), job(training_audio, out))
    return out


def released(run, folder, valid=None, **how) -> str:
    """Release a run and return its card."""
    release(run, folder, CardOptions(faults="It knows two noises.", valid=valid), **how)
    return (folder / "card.md").read_text()


def agrees(folder, on=lambda network: network) -> bool:
    """Compare ONNX Runtime with PyTorch on a released model; `on`: wraps its network."""
    noisy = 0.1 * np.random.default_rng(0).standard_normal(16000).astype(np.float32)
    network, _ = load_network(folder / "config.toml", folder / "weights.safetensors")
    with torch.no_grad():
        expected = on(network).enhance(torch.from_numpy(noisy)[None])[0].numpy()
    return np.abs(qse.denoise(noisy, 16000, qse.load(folder)) - expected).max() < 1e-5


def test_release_writes_the_best_average_and_its_card(finished_run, tmp_path):
    out, _ = finished_run
    card = released(out, tmp_path / "tiny")
    assert agrees(tmp_path / "tiny")
    _, header = weights.load_tensors(out / "best.safetensors")
    best = next(row for row in lines(out / "valid.csv") if row["step"] == header["step"])
    assert (
        f"| training | {header['step']} steps, " in card
        and "Known faults: It knows two noises." in card
    )
    assert (
        f"WB-PESQ {float(best['pesq_wb']):.3f}" in card
        and "algorithmic latency | 4 ms (hop 2 ms)" in card
    )
    assert (
        "    qse train --recipe config.toml --speech SPEECH --noise NOISE --valid VALID --out RUN\n"
        in card
    )


def test_release_of_an_offline_network(training_audio, tmp_path, command):
    sizes = {"n_fft": 512, "hop_length": 256, "encoder": [1], "decoder": [2]}
    config = replace(CONFIG, model={"network": "qdensenet", "channels": 4, **sizes})
    train(config, job(training_audio, tmp_path / "run", valid=None, hours=0))
    card = released(tmp_path / "run", tmp_path / "whole")
    assert agrees(tmp_path / "whole")
    with pytest.raises(QseError, match="its network cannot stream: leave two_grids out"):
        release(tmp_path / "run", tmp_path / "two", graphs=GraphForm(two_grids=True))
    assert "| algorithmic latency | whole recordings |" in card and "time per hop" not in card
    with pytest.raises(QseError, match="whole needs whole recordings and cannot stream"):
        qse.Stream(qse.load(tmp_path / "whole"))
    noisy = 0.1 * np.random.default_rng(0).standard_normal((12 * 44100, 2))
    soundfile.write(tmp_path / "noisy.wav", noisy, 44100)
    arguments = "--model", tmp_path / "whole", "-o", tmp_path / "out.wav"
    assert command("denoise", tmp_path / "noisy.wav", *arguments)[0] == 0
    enhanced, rate = soundfile.read(tmp_path / "out.wav")
    assert (enhanced.shape, rate) == (noisy.shape, 44100)
    whole = qse.denoise(soundfile.read(tmp_path / "noisy.wav")[0], 44100, tmp_path / "whole")
    np.testing.assert_allclose(enhanced, whole, atol=1e-4)


def test_release_refuses_folders_of_runs(finished_run, tmp_path):
    before = {path.name: path.read_bytes() for path in finished_run[0].iterdir()}
    shutil.copytree(finished_run[0], tmp_path / "other")
    with pytest.raises(QseError, match="other: is a run, which the model would replace"):
        release(finished_run[0], tmp_path / "other")
    with pytest.raises(QseError, match="other: is a run, which the model would replace"):
        release(finished_run[0], tmp_path / "other", others=[tmp_path / "other"], overwrite=True)
    assert {path.name: path.read_bytes() for path in (tmp_path / "other").iterdir()} == before
    with pytest.raises(QseError, match=r"config.toml: is a file; name a folder for the model"):
        release(finished_run[0], tmp_path / "other/config.toml")
    with pytest.raises(QseError, match="is a run, which the model would replace"):
        release(finished_run[0], finished_run[0] / "../" / finished_run[0].name)
    with pytest.raises(QseError, match=r"nothing: no run, as it has no weights.safetensors or"):
        release(tmp_path / "nothing", tmp_path / "model")
    assert {path.name: path.read_bytes() for path in finished_run[0].iterdir()} == before


def test_release_failing_to_score_writes_nothing(
    finished_run, training_audio, tmp_path, monkeypatch
):
    with pytest.raises(QseError, match="nothing: no pairs"):
        release(finished_run[0], tmp_path / "model", CardOptions(valid=tmp_path / "nothing"))
    monkeypatch.setattr("qse.export.release.validate", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        release(finished_run[0], tmp_path / "model", CardOptions(valid=training_audio / "valid"))
    assert not (tmp_path / "model").exists()


def test_release_failing_at_the_second_export_keeps_the_former_graphs(
    finished_run, tmp_path, monkeypatch
):
    def refuse(network, path, **_):
        if path.name == "model-48k.onnx":
            raise QseError(f"{path}: not written")
        path.write_bytes(b"new")

    former = {"model.onnx": b"former", "model-48k.onnx": b"former", "SHA256SUMS": b"former"}
    (tmp_path / "tiny").mkdir()
    for name, content in former.items():
        (tmp_path / "tiny" / name).write_bytes(content)
    monkeypatch.setattr(graphs_module, "export_stream", refuse)
    monkeypatch.setattr(
        release_module, "at_its_rates", lambda network: dict.fromkeys(list(former)[:2], network)
    )
    with pytest.raises(QseError, match="not written"):
        release(finished_run[0], tmp_path / "tiny", overwrite=True)
    assert {path.name: path.read_bytes() for path in (tmp_path / "tiny").iterdir()} == former


def test_release_counts_skipped_steps(training_audio, tmp_path, monkeypatch, without_export):
    fault = iter(["gradient", "", "", "loss", "loss", "loss"])

    def loss(*batch):
        total, terms, carried = TrainingLoss(LOSS)(*batch)
        kind = next(fault)
        if kind == "gradient":  # where the loss is a number all the same
            total.register_hook(lambda gradient: gradient * np.nan)
        return total * (np.nan if kind == "loss" else 1), terms, carried

    monkeypatch.setattr("qse.train.assembly.TrainingLoss", lambda *_: loss)
    some = tmp_path / "some"
    none = tmp_path / "none"
    plan = replace(CONFIG, train=replace(PLAN, steps=3))
    train(plan, job(training_audio, some, valid=None))
    (row,) = lines(some / "train.csv")
    assert float(row["loss"]) < 100 and row["skipped"] == "1"
    assert "3 steps (1 left out), " in released(some, tmp_path / "some-model")
    train(plan, job(training_audio, none, valid=None))
    assert lines(none / "train.csv")[0]["loss"] == "nan"
    with pytest.raises(QseError, match="none: no step has changed its weights"):
        released(none, tmp_path / "none-model")


def test_release_averages_runs(finished_run, training_audio, tmp_path, without_export):
    out, _ = finished_run
    train(CONFIG, job(training_audio, tmp_path / "run", valid=None, hours=0, start=out))
    card = released(
        out, tmp_path / "mean", others=[tmp_path / "run"], valid=training_audio / "valid"
    )
    first, _ = weights.load_tensors(out / "best.safetensors")
    second, _ = weights.load_tensors(tmp_path / "run/checkpoint.safetensors")
    one = first["average.decoder.head.weight"]
    other = second["average.decoder.head.weight"]
    mean, _ = weights.load_tensors(tmp_path / "mean/weights.safetensors")
    assert torch.allclose(mean["decoder.head.weight"], (one + other) / 2) and not torch.equal(
        one, other
    )
    assert "; mean with the weights of run |" in card and "Validation pairs, mean: WB-PESQ" in card


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_release_of_a_private_run_is_private(finished_run, tmp_path, without_export):
    run = shutil.copytree(finished_run[0], tmp_path / "run")
    for path in run.iterdir():
        path.chmod(0o600)
    released(run, tmp_path / "model")
    for path in (tmp_path / "model").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_release_of_weights_that_are_exchanged(finished_run, tmp_path, without_export, monkeypatch):
    """The weights that are read are private, those of their name before and afterwards are not."""
    run = shutil.copytree(finished_run[0], tmp_path / "run")
    path = weights_of(run)
    average = release_module.average

    def exchanged(*arguments: object) -> object:
        path.chmod(0o600)
        found = average(*arguments)
        path.rename(tmp_path / "away")
        shutil.copyfile(tmp_path / "away", path)
        return found

    monkeypatch.setattr(release_module, "average", exchanged)
    released(run, tmp_path / "model")
    assert stat.S_IMODE((tmp_path / "model/weights.safetensors").stat().st_mode) == 0o600


def test_release_that_cannot_write_the_graph_of_many_streams_keeps_the_former_model(
    finished_run, tmp_path, monkeypatch
):
    released(finished_run[0], tmp_path / "model")
    before = {path.name: path.read_bytes() for path in (tmp_path / "model").iterdir()}

    def failing(*_, **__):
        raise QseError("differs")

    monkeypatch.setattr("qse.export.many_streams.export_many_streams", failing)
    with pytest.raises(QseError, match="differs"):
        release(
            finished_run[0], tmp_path / "model", graphs=GraphForm(many_streams=True), overwrite=True
        )
    assert {path.name: path.read_bytes() for path in (tmp_path / "model").iterdir()} == before


def test_release_names_the_origin(finished_run, training_audio, tmp_path, without_export):
    out, _ = finished_run
    train(CONFIG, job(training_audio, tmp_path / "run", valid=None, hours=0, start=out))
    cards = [released(tmp_path / "run", tmp_path / name) for name in ("other", out.name)]
    assert all(f"| training | 1 steps after those of {out.name}, in all" in card for card in cards)
    assert ["the release before this one" in card for card in cards] == [False, True]


def test_release_of_less_look_ahead_leaves_out_taps_and_checkpoint(run_that_looks_ahead, tmp_path):
    folder = tmp_path / "live"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(b"of a former release")
    (folder / "checkpoint.safetensors").write_bytes(b"of a former release")
    card = released(run_that_looks_ahead, folder, look_ahead=0, overwrite=True)
    assert agrees(folder)
    assert not (folder / "checkpoint.safetensors").exists()
    tensors, _ = weights.load_tensors(folder / "weights.safetensors")
    assert not any(".ahead" in name for name in tensors)
    assert "| algorithmic latency | 4 ms (hop 2 ms) |" in card
    assert "Validation pairs" not in card  # the run was scored with its look-ahead
    with pytest.raises(QseError, match="looks at most 2 frames ahead"):
        release(run_that_looks_ahead, folder, look_ahead=3, overwrite=True)


def test_release_averages_a_run_that_looks_ahead_with_a_model_that_does_not(
    run_that_looks_ahead, tmp_path
):
    live = tmp_path / "live"
    released(run_that_looks_ahead, live, look_ahead=0)
    tensors, header = weights.load_tensors(live / "weights.safetensors")
    zero = {name: torch.zeros_like(tensor) for name, tensor in tensors.items()}
    checkpoint.save(live / "weights.safetensors", zero, header, None)

    mean = tmp_path / "mean"
    card = released(run_that_looks_ahead, mean, look_ahead=0, others=[live])
    assert agrees(mean)
    assert "; mean with the weights of live |" in card
    found, _ = weights.load_tensors(mean / "weights.safetensors")
    assert found.keys() == tensors.keys()
    for name, tensor in found.items():
        torch.testing.assert_close(tensor.double(), tensors[name].double() / 2)
    with pytest.raises(QseError, match=r"live: has another network than .*: no mean of the two"):
        release(run_that_looks_ahead, mean, others=[live], overwrite=True)


def test_release_of_several_hops_per_step(run_that_looks_ahead, tmp_path):
    card = released(run_that_looks_ahead, tmp_path / "studio", graphs=GraphForm(4))
    assert agrees(tmp_path / "studio")
    assert (tmp_path / "studio" / "checkpoint.safetensors").exists()
    assert "| algorithmic latency | 14 ms (hop 8 ms) |" in card
    assert "Validation pairs, mean: WB-PESQ" in card


def test_release_on_two_grids_halves_the_hop(run_that_looks_ahead, tmp_path):
    card = released(run_that_looks_ahead, tmp_path / "two", graphs=GraphForm(two_grids=True))
    assert agrees(tmp_path / "two", TwoGrids)
    assert "| algorithmic latency | 8 ms (hop 1 ms) |" in card
    assert "| frames | mean of the outputs on two grids, half a hop of the network apart |" in card
    assert "Validation pairs" not in card  # the run was scored on one


def test_release_on_two_grids_of_several_hops_runs_one_graph_twice(run_that_looks_ahead, tmp_path):
    card = released(run_that_looks_ahead, tmp_path / "two", graphs=GraphForm(3, True))
    assert agrees(tmp_path / "two", TwoGrids)
    assert "| algorithmic latency | 13 ms (hop 6 ms) |" in card
    assert "| frames | mean of the outputs on two grids, half a hop of the network apart |" in card
    fast = qse.load(tmp_path / "two", fast=True)
    assert qse.load(tmp_path / "two").latency == fast.latency + fast.hop_length // 6

"""Runs that start from the weights of another run or model."""

import os
import shutil
import stat
from dataclasses import replace
from pathlib import Path

import graphs
import pytest

torch = pytest.importorskip("torch")

from small_training import CONFIG, TINY, job, same
from tensors import as_trained

from qse.errors import QseError
from qse.networks import build_network, weights
from qse.networks.enrolment import beginning, describe
from qse.train import run as run_module
from qse.train.run import train
from qse.train.warm_start import grow, start_from

DEEPER = {**TINY, "blocks": 3}


def test_start_from_a_run_with_new_blocks(finished_run):
    """New blocks pass everything on, so that the deeper network computes what the small
    one does."""
    out, _ = finished_run
    small = build_network(TINY).eval()
    large = build_network(DEEPER).eval()
    kept, header = weights.load_tensors(out / "best.safetensors")
    small.load_state_dict(weights.pick(kept, "average"))
    assert start_from(large, out) == header
    noisy = 0.1 * torch.randn(1, 1600)
    with torch.no_grad():
        assert torch.equal(large.enhance(noisy), small.enhance(noisy))


@pytest.mark.parametrize("branch", ["attention", "time", "feed"])
def test_start_with_a_branch_that_was_pruned(branch):
    """The new branch adds nothing yet; the other branches of its block keep their weights."""
    small = as_trained(build_network({**TINY, "pruned": [f"block0.{branch}"]}))
    full = build_network(TINY).eval()
    grow(full, small.state_dict())
    noisy = 0.1 * torch.randn(1, 1600)
    with torch.no_grad():
        assert torch.equal(full.enhance(noisy), small.enhance(noisy))


def test_start_from_a_network_that_adapts_to_no_talker():
    """The network that does adapts to nobody yet, whoever is told."""
    plain = as_trained(build_network(TINY))
    adaptive = build_network({**TINY, "talker": True}).eval()
    grow(adaptive, plain.state_dict())
    noisy = 0.1 * torch.randn(1, 1600)
    with torch.no_grad():
        told = beginning(adaptive, describe(adaptive, noisy))
        assert torch.equal(adaptive.enhance(noisy, told), plain.enhance(noisy))


def test_start_refuses_a_branch_of_which_a_part_is_missing():
    network = build_network(TINY)
    state = network.state_dict()
    del state["bottleneck.blocks.block0.time_out.weight"]
    with pytest.raises(
        RuntimeError,
        match=r"'weight' of layer bottleneck\.blocks\.block0\.time_out \(QuaternionLinear\)",
    ):
        grow(network, state)


def test_start_without_the_layers_that_look_ahead():
    sizes = {"look_ahead": 4, "look_ahead_blocks": (0, 1)}
    ahead = as_trained(build_network({**DEEPER, **sizes}))
    live = build_network(DEEPER).eval()
    grow(live, ahead.state_dict())
    noisy = 0.1 * torch.randn(1, 1600)
    with torch.no_grad():
        assert torch.equal(live.enhance(noisy), ahead.at(16000, 0).enhance(noisy))
        assert not torch.equal(live.enhance(noisy), ahead.enhance(noisy))


def test_start_from_a_model_by_name(finished_run, tmp_path, monkeypatch):
    (tmp_path / "first").mkdir()
    graphs.delay(tmp_path / "first/model.onnx")
    shutil.copyfile(finished_run[0] / "best.safetensors", tmp_path / "first/weights.safetensors")
    monkeypatch.setenv("QSE_MODELS", str(tmp_path))
    network = build_network(TINY)
    start_from(network, "first")
    same(
        network.state_dict(),
        weights.pick(weights.load_tensors(finished_run[0] / "best.safetensors")[0], "average"),
    )


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_run_from_private_weights_is_private(finished_run, training_audio, tmp_path):
    first = shutil.copytree(finished_run[0], tmp_path / "first")
    (first / "best.safetensors").chmod(0o600)
    run = tmp_path / "run"
    train(CONFIG, job(training_audio, run, valid=None, hours=0, start=first))
    for name in ("config.toml", "checkpoint.safetensors"):
        assert stat.S_IMODE((run / name).stat().st_mode) == 0o600


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
@pytest.mark.parametrize("resume", [False, True])
def test_run_of_a_private_recipe_is_private(finished_run, training_audio, tmp_path, resume):
    (tmp_path / "recipe.toml").touch(0o600)
    run = tmp_path / "run"
    if resume:
        shutil.copytree(finished_run[0], run)
        (run / "config.toml").unlink()
    options = {"recipe": tmp_path / "recipe.toml", "resume": resume, "hours": 0}
    train(CONFIG, job(training_audio, run, valid=None, **options))
    assert stat.S_IMODE((run / "config.toml").stat().st_mode) == 0o600


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_checkpoints_keep_the_readers_of_the_first_weights(
    finished_run, training_audio, tmp_path, monkeypatch
):
    """Others put a file that all may read into the place of the configuration."""
    first = shutil.copytree(finished_run[0], tmp_path / "first")
    (first / "best.safetensors").chmod(0o600)
    run = tmp_path / "run"
    write = run_module.write_config

    def exchanged(path: Path, *arguments: object, **named: object) -> None:
        write(path, *arguments, **named)
        path.unlink()
        path.touch()
        path.chmod(0o644)

    monkeypatch.setattr(run_module, "write_config", exchanged)
    train(CONFIG, job(training_audio, run, valid=None, hours=0, start=first))
    assert stat.S_IMODE((run / "checkpoint.safetensors").stat().st_mode) == 0o600


def test_configuration_that_is_exchanged_for_a_link(
    finished_run, training_audio, tmp_path, monkeypatch
):
    """The permissions of the file behind the link stay."""
    first = shutil.copytree(finished_run[0], tmp_path / "first")
    (first / "best.safetensors").chmod(0o600)
    (precious := tmp_path / "precious").touch()
    precious.chmod(0o644)
    run = tmp_path / "run"
    write = run_module.write_config

    def exchanged(path: Path, *arguments: object, **named: object) -> None:
        write(path, *arguments, **named)
        path.unlink()
        path.symlink_to(precious)

    monkeypatch.setattr(run_module, "write_config", exchanged)
    train(CONFIG, job(training_audio, run, valid=None, hours=0, start=first))
    assert stat.S_IMODE(precious.stat().st_mode) == 0o644


def test_train_from_a_run_trains_new_blocks(finished_run, training_audio, tmp_path):
    out, _ = finished_run
    header = weights.load_header(out / "best.safetensors")
    train(
        replace(CONFIG, model=DEEPER),
        job(training_audio, tmp_path / "run", valid=None, hours=0, start=out),
    )
    found, new = weights.load_tensors(tmp_path / "run/checkpoint.safetensors")
    assert (new["step"], new["origin"]) == ("1", out.name)
    assert int(new["heard"]) == int(header["heard"]) + 2 * 0.25 * 16000
    block = "model.bottleneck.blocks.block2"  # whose last layers were zero
    assert found[f"{block}.time_out.weight"].any() and found[f"{block}.feed.2.weight"].any()


def test_train_from_refuses_weights_that_do_not_fit(finished_run, training_audio, tmp_path):
    out, _ = finished_run

    def refused(sentence, model, **how):
        with pytest.raises(QseError, match=sentence):
            train(replace(CONFIG, model=model), job(training_audio, tmp_path / "new", **how))
        assert not (tmp_path / "new").exists()

    (tmp_path / "empty").mkdir()
    refused("empty: no weights to start from", DEEPER, start=tmp_path / "empty")
    for other in (
        {"growth": 1},
        {"time_mixer": ["lru"]},
        {"blocks": 0},
        {"dilations": (1, 2, 4)},
        {"n_fft": 128, "ranges": ((64, 2),)},
    ):
        refused("best.safetensors: these weights do not fit", {**TINY, **other}, start=out)
    with pytest.raises(QseError, match="leave one of them out"):
        train(CONFIG, job(training_audio, out, start=out, resume=True))


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({"growth": 1}, r"layer encoder\.dense\.\S+ \(\w+\) has the shape \(.*\), theirs \(.*\);"),
        ({"blocks": 0}, r"the network has no bottleneck\.blocks\.block"),
        (
            {"channels": (4, 4, 8), "growth": 4, "algebra": "phm"},
            "cannot be widened|not among them",
        ),
    ],
)
def test_start_names_the_layer_that_does_not_fit(finished_run, other, sentence):
    with pytest.raises(QseError, match=sentence):
        start_from(build_network({**TINY, **other}), finished_run[0])


def test_start_names_the_layer_that_cannot_be_widened():
    """A network of one's own with a real layer in it, of more channels."""
    narrow = build_network({"network": "own_layers:Small", "channels": 2})
    wide = build_network({"network": "own_layers:Small", "channels": 4})
    grow(wide, narrow.state_dict())
    for network in (narrow, wide):
        network.real = torch.nn.Linear(3, 3)
    with pytest.raises(
        RuntimeError, match=r"theirs .*, and layer real \(Linear\) cannot be widened"
    ):
        grow(wide, narrow.state_dict())

"""Runs that cannot be done are refused before anything is written."""

import os
import sys
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

import cheating_mixers
from small_training import CONFIG, LOSS, PLAN, TINY, job

from qse.errors import QseError
from qse.losses.loss_config import LossConfig
from qse.train.job import Job
from qse.train.preflight import prepare
from qse.train.recipe import RunConfig
from qse.train.run import train


def refused(sentence: str, config: RunConfig, job: Job) -> None:
    with pytest.raises(QseError, match=sentence):
        train(config, job)


def test_prepare_names_missing_packages(training_audio, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    refused(
        r"needs the package matplotlib: pip install \"qse-speech\[train\]\"",
        CONFIG,
        job(training_audio, tmp_path / "run"),
    )
    assert not (tmp_path / "run").exists()


def test_a_recipe_in_the_folder_of_the_run_is_not_replaced(training_audio, tmp_path):
    recipe = tmp_path / "config.toml"
    recipe.write_text("# my notes\n")
    refused(r"config\.toml: would be replaced", CONFIG, job(training_audio, tmp_path))
    assert recipe.read_text() == "# my notes\n"


@pytest.mark.skipif(os.name == "nt", reason="needs links")
def test_a_link_in_the_place_of_the_folder_that_nobody_named_is_refused(
    training_audio, tmp_path, monkeypatch
):
    """It may have come in an archive."""
    (tmp_path / "thesis").mkdir()
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/train").symlink_to(tmp_path / "thesis")
    monkeypatch.chdir(tmp_path)
    unnamed = job(training_audio, Job().out)
    refused("runs/train is a link: name a folder", CONFIG, unnamed)
    assert not list((tmp_path / "thesis").iterdir())


def test_prepare_refuses(finished_run, training_audio, tmp_path):
    def to(name: str, **how) -> Job:
        return job(training_audio, tmp_path / name, **how)

    out, _ = finished_run
    before = (out / "checkpoint.safetensors").read_bytes()
    refused(
        "whole: holds a run already; continue it with resume=True", CONFIG, job(training_audio, out)
    )
    # of a run that came to no checkpoint
    for name in ("best.safetensors", "train.csv", "valid.csv", "curves.png"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
        refused("holds a run without a checkpoint; name another folder", CONFIG, to(name))
    refused(
        r"checkpoint.safetensors: no checkpoint to resume from; begin without resume=True",
        CONFIG,
        to("new", resume=True),
    )
    refused(
        "speech: no such folder",
        CONFIG,
        job(tmp_path, tmp_path / "new", valid=training_audio / "valid"),
    )
    refused("gpu: choose cpu, cuda", CONFIG, to("unborn", device="gpu"))
    refused("nothing: no pairs", CONFIG, to("unborn", valid=tmp_path / "nothing"))
    refused("nothing: no pairs", CONFIG, to("unborn", unknown=tmp_path / "nothing"))
    refused("unknown=DIR needs valid=DIR", CONFIG, to("unborn", valid=None, unknown=tmp_path))
    corpus = Job(None, None, tmp_path / "unborn", data=tmp_path, cache=tmp_path)
    refused("cache=DIR is for speech=DIR and noise=DIR", CONFIG, corpus)
    assert not (tmp_path / "unborn").exists()
    (tmp_path / "file").write_text("in the way")
    refused("file: cannot write there", CONFIG, to("file"))
    refused("a: cannot write there", CONFIG, to("file/a"))
    assert (out / "checkpoint.safetensors").read_bytes() == before


def test_prepare_wants_a_gpu_for_each_process(training_audio, tmp_path, monkeypatch):
    def several(device: str) -> Job:
        return job(training_audio, tmp_path / "unborn", device=device, processes=3)

    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    refused("processes=3: PyTorch finds 2 GPUs here, and each process", CONFIG, several("cuda"))
    refused("device=cuda:1: of several processes each needs a GPU", CONFIG, several("cuda:1"))
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "3")
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.setenv(name, "4")
    refused("processes=3: torchrun has started them", CONFIG, several("cuda"))
    one = job(training_audio, tmp_path / "unborn", device="cuda")
    refused("processes=3: PyTorch finds 2 GPUs here", CONFIG, one)


def test_prepare_names_the_extra_of_tensorboard(training_audio, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    config = replace(CONFIG, train=replace(PLAN, tensorboard=True))
    refused(r"pip install \"qse-speech\[tensorboard\]\"", config, job(training_audio, tmp_path))


def test_prepare_refuses_models_and_losses(training_audio, tmp_path):
    def to(name: str, **how) -> Job:
        return job(training_audio, tmp_path / name, **how)

    refused("unknown key 'size'", replace(CONFIG, model={**TINY, "size": 3}), to("new"))
    slow = replace(CONFIG, model={**TINY, "sample_rate": 8000})
    refused("model.sample_rate is 8000, mix.sample_rate 16000", slow, to("new"))
    slow = replace(slow, mix=replace(slow.mix, sample_rate=8000), loss=LossConfig(pesq=0, stoi=1))
    refused("pesq, stoi and discriminator need", slow, to("new", valid=None))
    # hops less the latency
    for segment, loss, plan in (
        (0.03, replace(LOSS, mrstft=1.0), PLAN),  # which reads 600 samples
        (0.1, replace(LOSS, compressed=1.0, n_fft=4096), PLAN),
        (
            0.0385,
            replace(LOSS, mrstft=1.0),
            replace(PLAN, carry_state_probability=0.5),
        ),
        (0.39, replace(LOSS, stoi=1.0), PLAN),
        (0.401, replace(LOSS, stoi=1.0), replace(PLAN, carry_state_probability=0.5)),
        (0.0039, LOSS, replace(PLAN, carry_state_probability=0.5)),  # a single hop
    ):
        short = replace(CONFIG, mix=replace(CONFIG.mix, segment=segment), loss=loss, train=plan)
        refused(f"mix.segment is {segment} s.* make it longer", short, to("new", valid=None))
    mask = replace(CONFIG, loss=replace(LOSS, complex_l1=1.0, complex_l1_of="mask"))
    refused("complex_l1_of is mask, which needs an offline network", mask, to("unborn", valid=None))
    real = replace(CONFIG, model={"network": "conformer"}, train=replace(PLAN, optimizer="muon"))
    refused("no quaternion weights; choose adamw", real, to("unborn", valid=None))
    assert not (tmp_path / "unborn").exists()


@pytest.mark.parametrize("cheat", cheating_mixers.CHEATS, ids=lambda cheat: cheat.__name__)
def test_prepare_refuses_what_breaks_a_law(training_audio, tmp_path, cheat):
    config = replace(CONFIG, model={**TINY, "time_mixer": [cheating_mixers.name(cheat)]})
    sentence = cheating_mixers.refusal(cheat, cheating_mixers.CHEATS[cheat])
    refused(sentence, config, job(training_audio, tmp_path / "unborn", valid=None))
    assert not (tmp_path / "unborn").exists()


def test_prepare_accepts_a_network_at_8_khz(training_audio, tmp_path):
    slow = replace(
        CONFIG, model={**TINY, "sample_rate": 8000}, mix=replace(CONFIG.mix, sample_rate=8000)
    )
    slow = replace(slow, loss=replace(LOSS, complex_l1=1.0, compressed=1.0))
    assert (
        prepare(slow, job(training_audio, tmp_path / "run", valid=None)).network.config.sample_rate
        == 8000
    )


def test_prepare_names_the_cure_for_a_network_of_one_rate(training_audio, tmp_path):
    """At 48 kHz alone, with batches at 16 kHz too, and with pairs for validation at 16 kHz."""
    full = {"network": "own_layers:Small", "sample_rate": 48000}
    config = replace(CONFIG, model=full, mix=replace(CONFIG.mix, sample_rate=48000))
    refused("wide_band_share is 0.5: set it to 0", config, job(training_audio, tmp_path / "a"))
    config = replace(config, train=replace(PLAN, wide_band_share=0.0))
    refused("is not all at the rate of the network", config, job(training_audio, tmp_path / "a"))
    prepare(config, job(training_audio, tmp_path / "a", valid=None))


@pytest.mark.parametrize(
    "model, sentence",
    [
        (TINY, "train.look_ahead: look_ahead 4: the network looks at most 0 frames ahead"),
        ({"network": "own_layers:Small"}, "train.look_ahead: Small has no look-ahead"),
    ],
)
def test_prepare_refuses_a_look_ahead_that_the_network_lacks(
    training_audio, tmp_path, model, sentence
):
    """The first step failed with a traceback."""
    config = replace(CONFIG, model=model, train=replace(PLAN, look_ahead=(0, 4)))
    refused(sentence, config, job(training_audio, tmp_path / "unborn", valid=None))


def test_prepare_names_the_configuration_of_a_resumed_run(finished_run, training_audio):
    damaged = replace(CONFIG, model={**CONFIG.model, "n_fft": "x"})
    resumed = job(training_audio, finished_run[0], resume=True)
    refused(
        r"config\.toml: network streaming: n_fft = 'x': expected a whole number", damaged, resumed
    )


def test_prepare_names_checkpoints_of_another_model(finished_run, training_audio, tmp_path):
    out = tmp_path / "run"
    out.mkdir()
    (out / "checkpoint.safetensors").write_bytes(
        (finished_run[0] / "checkpoint.safetensors").read_bytes()
    )
    (out / "config.toml").write_text("what the run is")
    wider = replace(CONFIG, model={**TINY, "growth": 4})
    refused(
        r"run/checkpoint.safetensors: not a checkpoint of this model",
        wider,
        job(training_audio, out, resume=True),
    )
    assert (out / "config.toml").read_text() == "what the run is"


@pytest.mark.parametrize(
    ("model", "plan", "enrolment", "message"),
    [
        ({}, {}, 1.0, "the network adapts to no talker; set model.talker"),
        ({"talker": True}, {"carry_state_probability": 0.3}, 1.0, "begins with its talker"),
        ({"talker": True}, {"two_grids_share": 0.5}, 1.0, "begins with its talker"),
        ({"talker": True}, {}, 0.9999, "whole hops"),
    ],
)
def test_prepare_refuses_enrolments_that_the_network_is_not_made_for(
    model, plan, enrolment, message, tmp_path, training_audio
):
    mix = replace(CONFIG.mix, others_chance=0.5, enrolment_chance=0.5, enrolment=enrolment)
    model = {**CONFIG.model, **model}
    config = replace(CONFIG, model=model, mix=mix, train=replace(PLAN, **plan))
    refused(message, config, job(training_audio, tmp_path / "unborn", valid=None))

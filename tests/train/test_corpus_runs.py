"""The paper's recipes on tiny copies of the official corpora: an epoch, resumed to equal numbers,
evaluated."""

import json
from dataclasses import replace
from pathlib import Path

import graphs
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from official_corpora import CORPORA, LIGHT, voicebank, write
from small_training import TINY, same

from qse.data.corpus import none_reaches
from qse.data.datasets import test_pairs as pairs_of_corpus
from qse.errors import QseError, UsageError
from qse.evaluate.evaluation import evaluate
from qse.networks import weights
from qse.train.job import Job
from qse.train.recipe import find_recipe, read_config
from qse.train.run import train


@pytest.mark.parametrize("sample_rate", [16000, 48000])
@pytest.mark.parametrize("name", CORPORA)
def test_train_an_epoch_of_a_corpus(name, sample_rate, tmp_path, monkeypatch):
    monkeypatch.setenv("QSE_MODELS", str(tmp_path / "none"))
    data = CORPORA[name](tmp_path / "data", sample_rate)
    changes = [*LIGHT, "train.epochs=1", "train.epoch_hours=0"]
    config = replace(read_config(find_recipe(name), changes), model=TINY)
    told = []
    train(
        config,
        Job(None, None, tmp_path / "whole", data=data),
        progress=lambda *counts: told.append(counts),
    )
    files = {"voicebank": [10], "dns3": [3, 2]}[name]
    assert [total for _, done, total in told if done == total] == files
    whole, header = weights.load_tensors(tmp_path / "whole/checkpoint.safetensors")
    steps = {"voicebank": (5 - 1) // 2, "dns3": 9 // 2}[name]  # 4.5 s of speech are nine segments
    assert header["step"] == str(steps)
    # the other is too small to hold talkers out
    assert (tmp_path / "whole/valid.csv").exists() == (name == "voicebank")

    (tmp_path / "parts").mkdir()
    train(config, Job(None, None, tmp_path / "parts", hours=0, data=data))  # a step
    train(config, Job(None, None, tmp_path / "parts", resume=True, data=data))
    parts, resumed = weights.load_tensors(tmp_path / "parts/checkpoint.safetensors")
    same(parts, whole)
    for differs in ("seconds", "best"):  # a stop for lack of time is validated too
        del resumed[differs], header[differs]
    assert resumed == header

    if sample_rate == 16000:
        metric, count = {"voicebank": ("si_sdr", 2), "dns3": ("dnsmos_ovrl", 1)}[name]
        pairs = pairs_of_corpus(name, data)
        outcome = evaluate(str(tmp_path / "whole"), pairs, tmp_path / "scores", metrics=metric)
        assert f"; weights of step {header['step']};" in outcome.text()
        assert (
            not outcome.failed
            and len((outcome.folder / "scores.csv").read_text().splitlines()) == 1 + count
        )


def test_train_names_missing_parts_of_a_corpus(tmp_path):
    def refused(name, data, sentence, **changes):
        with pytest.raises(QseError, match=sentence):
            config = replace(read_config(find_recipe(name), LIGHT), model=TINY, **changes)
            train(config, Job(None, None, tmp_path / "run", data=data))

    refused(
        "voicebank",
        tmp_path,
        "has no folder noisy_trainset_28spk_wav: give the folder of VoiceBank",
    )
    refused("dns3", tmp_path, "has no folder clean: give the folder of DNS-Challenge 3")
    refused(
        "live-tiny",
        tmp_path,
        r"data=DIR needs a recipe with a dataset \(voicebank or dns3\), this one has none",
    )
    voicebank(tmp_path / "v", 16000)
    slow = {**TINY, "sample_rate": 8000}
    with pytest.raises(QseError, match="its copies are at 16000 Hz"):
        train(
            replace(read_config(find_recipe("voicebank")), model=slow),
            Job(None, None, tmp_path, data=tmp_path / "v"),
        )
    write(tmp_path / "v/clean_trainset_28spk_wav/p226_002.wav", np.zeros(99))
    refused(
        "voicebank",
        tmp_path / "v",
        r"p226_002.wav has 16800 samples and .*p226_002.wav 99: a pair is of one length",
    )
    (tmp_path / "v/clean_trainset_28spk_wav/p226_001.wav").unlink()
    refused(
        "voicebank", tmp_path / "v", r"noisy_trainset_28spk_wav/p226_001.wav has no counterpart"
    )


@pytest.mark.parametrize("where", [{}, {"speech": "s"}, {"speech": "s", "noise": "n", "data": "d"}])
def test_prepare_refuses_several_sources(tmp_path, where):
    folders = {"speech": None, "noise": None, **where}
    with pytest.raises(
        UsageError, match="say what to train on: speech=DIR and noise=DIR, or bundles=DIR"
    ):
        train(read_config(find_recipe("voicebank")), Job(out=tmp_path / "run", **folders))


def test_speech_without_a_full_band_names_a_recipe_that_takes_it():
    error = str(none_reaches(Path("SPEECH"), 18500))
    recipe = error.rpartition("such as ")[2]
    assert "SPEECH: no recording has content up to 18.5 kHz" in error
    assert read_config(find_recipe(recipe)).model.get("sample_rate", 16000) == 16000


def test_find_recipe_by_name_and_path(tmp_path):
    (tmp_path / "mine.toml").write_text("")
    assert find_recipe(str(tmp_path / "mine.toml")) == tmp_path / "mine.toml"
    with pytest.raises(
        QseError, match=r"no recipe called dns4: there are .*dns3, .*voicebank; a path"
    ):
        find_recipe("dns4")


def test_train_command_on_a_corpus(tmp_path, command, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = voicebank(tmp_path / "data", 16000)
    tiny = [f"model.{key}={json.dumps(value)}" for key, value in TINY.items() if key != "n_fft"]
    changes = [*LIGHT, 'model={network = "streaming"}', *tiny, "model.n_fft=64", "train.epochs=1"]
    sets = []
    for change in changes:
        sets += ["--set", change]
    status, _, error = command("train", "--recipe", "voicebank", "--data", data, *sets)
    assert status == 0, error
    assert "step 2: scoring validation pairs: 1\n" in error
    assert error.endswith("step 2; export it as a model: qse export runs/voicebank models/NAME\n")
    assert read_config(tmp_path / "runs/voicebank/config.toml").dataset == "voicebank"
    short = "--out", "short", "--hours", 0, "--set", "train.steps=2"
    _, _, error = command("train", "--recipe", "voicebank", "--data", data, *sets, *short)
    assert (
        "short: step 1; export it as a model: qse export short" in error
        and "continue to step 2 with" in error
    )
    assert weights.load_tensors(Path("short/checkpoint.safetensors"))[1]["options"] == "--data DATA"
    before = (tmp_path / "runs/voicebank/config.toml").read_text()
    # a run goes on as it began
    for words in (
        ["--recipe", "voicebank"],
        ["--out", "runs/voicebank"],
    ):
        assert command("train", *words, "--data", data, "--resume")[0] == 0
        assert (tmp_path / "runs/voicebank/config.toml").read_text() == before
    status, _, error = command("train", "--data", data, "--resume")
    assert status == 2 and "say what to train" in error
    monkeypatch.setattr(
        "qse.export.graphs.export_stream", lambda network, path, **_: graphs.delay(path)
    )
    status, said, error = command("export", "runs/voicebank", tmp_path / "mine")
    assert status == 0 and "mine: step 2, " in said, error
    assert (
        "    qse train --recipe config.toml --data DATA --out RUN\n"
        in (tmp_path / "mine/card.md").read_text()
    )


@pytest.mark.parametrize(
    "how, options",
    [
        ({"speech": Path("s"), "noise": Path("n")}, "--speech SPEECH --noise NOISE"),
        (
            {"speech": Path("s"), "noise": Path("n"), "valid": Path("v")},
            "--speech SPEECH --noise NOISE --valid VALID",
        ),
        ({"data": Path("d"), "processes": 2}, "--data DATA --processes 2"),
    ],
)
def test_job_options_repeat_a_run(how, options):
    assert Job(**{"speech": None, "noise": None, "out": Path("out"), **how}).options() == options


def test_train_command_passes_processes_on(command, monkeypatch, tmp_path):
    jobs = []

    def run(config, job, *_, **__):
        jobs.append(job)
        raise QseError("enough")

    monkeypatch.setattr("qse.train.run.train", run)
    command(
        "train",
        "--recipe",
        "live-tiny",
        "--speech",
        tmp_path,
        "--noise",
        tmp_path,
        "--processes",
        3,
    )
    assert [job.processes for job in jobs] == [3]

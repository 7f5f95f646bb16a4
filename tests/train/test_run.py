"""Training runs: the files that they leave, stopping, resuming, and failing."""

import os
import shutil
import signal
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import soundfile
from small_training import CONFIG, CPU, PLAN, TINY, Reports, job, lines, same

from qse.audio.claim import claim
from qse.errors import QseError
from qse.networks import build_network, weights
from qse.networks.weights import weights_step
from qse.train.recipe import read_config
from qse.train.run import train
from qse.train.validation import METRICS, quality, validate
from qse.train.validation_pairs import find_pairs, read_pairs


def test_train_writes_its_files(finished_run):
    out, reports = finished_run
    assert {path.name for path in out.iterdir()} == {
        "config.toml",
        "checkpoint.safetensors",
        "best.safetensors",
        "train.csv",
        "valid.csv",
        "curves.png",
    }
    assert [row["step"] for row in reports] == [1, 2, 3, 4, 5, 6, 7]
    assert reports[-1]["audio"] == 7 * 2 * 0.25
    assert [row["step"] for row in lines(out / "train.csv")] == ["3", "6", "7"]
    assert [row["step"] for row in lines(out / "valid.csv")] == ["4", "7"]
    mean = np.mean([row["loss"] for row in reports[3:6]])
    assert float(lines(out / "train.csv")[1]["loss"]) == pytest.approx(mean, rel=1e-5)
    config = read_config(out / "config.toml")
    assert config.train == PLAN and config.mix == CONFIG.mix and config.loss == CONFIG.loss


def test_train_refuses_a_folder_that_another_training_writes_to(training_audio, tmp_path):
    out = tmp_path / "a"
    out.mkdir()
    refusal = pytest.raises(QseError, match=r"a: another training writes to it; wait for its end")
    with claim(out / out.name), refusal:
        train(CONFIG, job(training_audio, out))
    assert list(out.iterdir()) == []


def test_train_keeps_the_best_average(finished_run, training_audio):
    out, _ = finished_run
    tensors, header = weights.load_tensors(out / "best.safetensors")
    scores = {
        row["step"]: float(row["pesq_wb"]) + float(row["si_sdr"]) / 10
        for row in lines(out / "valid.csv")
    }
    assert float(header["best"]) == pytest.approx(max(scores.values()), rel=1e-5)
    assert scores[header["step"]] == max(scores.values())
    net = build_network(read_config(out / "config.toml").model)
    net.load_state_dict(weights.pick(tensors, "average"))
    found = validate(net, read_pairs(find_pairs(training_audio / "valid", 16000)), CPU)
    assert quality(found) == pytest.approx(float(header["best"]))


@pytest.fixture(scope="module")
def run_with_options(training_audio, tmp_path_factory):
    """The run of `finished_run` with a cache, and with one of its validation pairs as an unknown
    source."""
    folder = tmp_path_factory.mktemp("options")
    for kind in ("clean", "noisy"):
        path = min((training_audio / "valid" / kind).iterdir())
        (folder / "unknown" / kind).mkdir(parents=True)
        shutil.copy(path, folder / "unknown" / kind)
    train(
        CONFIG,
        replace(
            job(training_audio, folder / "run"), cache=folder / "cache", unknown=folder / "unknown"
        ),
    )
    return folder


def test_train_with_a_cache_writes_the_same_checkpoint(finished_run, run_with_options):
    assert (run_with_options / "cache/speech-16000.int16").stat().st_size > 0
    same(
        *(
            weights.load_tensors(out / "checkpoint.safetensors")[0]
            for out in (run_with_options / "run", finished_run[0])
        )
    )


def test_train_in_several_processes_writes_the_cache_before_they_start(
    training_audio, tmp_path, monkeypatch
):
    monkeypatch.setattr("qse.train.run.launch", lambda *_: None)
    # mixers are for the processes to build
    monkeypatch.setattr("qse.data.open_sources.NoiseMixer", None)
    train(
        CONFIG,
        job(training_audio, tmp_path / "run", valid=None, processes=2, cache=tmp_path / "cache"),
    )
    assert {path.stem for path in (tmp_path / "cache").iterdir()} == {"speech-16000", "noise-16000"}


def test_train_scores_unknown_sources_beside_the_known_ones(finished_run, run_with_options):
    out = run_with_options / "run"
    known = lines(finished_run[0] / "valid.csv")
    scored = lines(out / "valid.csv")
    for row, expected in zip(scored, known, strict=True):
        assert {key: row[key] for key in expected} == expected
    tensors, header = weights.load_tensors(out / "best.safetensors")
    best = max(
        scored, key=lambda row: float(row["unknown_pesq_wb"]) + float(row["unknown_si_sdr"]) / 10
    )
    assert header["step"] == best["step"]
    net = build_network(read_config(out / "config.toml").model)
    net.load_state_dict(weights.pick(tensors, "average"))
    expected = validate(net, read_pairs(find_pairs(run_with_options / "unknown", 16000)), CPU)
    assert {key: float(best[f"unknown_{key}"]) for key in METRICS} == pytest.approx(
        expected, rel=1e-5
    )


def test_train_stopped_and_resumed_equals_uninterrupted(finished_run, training_audio, tmp_path):
    class StopAtThree(Reports):
        def __call__(self, row, plan):
            super().__call__(row, plan)
            if row["step"] == 3:
                os.kill(os.getpid(), signal.SIGTERM)

    out = tmp_path / "parts"
    reports = StopAtThree()
    before = signal.getsignal(signal.SIGTERM)
    train(CONFIG, job(training_audio, out), reports)
    assert signal.getsignal(signal.SIGTERM) == before
    assert [row["step"] for row in reports.rows] == [1, 2, 3]
    assert weights.load_tensors(out / "checkpoint.safetensors")[1]["step"] == "3"
    train(CONFIG, job(training_audio, out, resume=True))
    for name in ("checkpoint.safetensors", "best.safetensors"):
        (expected, old) = weights.load_tensors(finished_run[0] / name)
        (found, new) = weights.load_tensors(out / name)
        same(found, expected)
        assert {**new, "seconds": ""} == {**old, "seconds": ""}
    for table in ("train", "valid"):
        expected = lines(finished_run[0] / f"{table}.csv")
        found = lines(out / f"{table}.csv")
        assert [{**row, "train_hours": ""} for row in found] == [
            {**row, "train_hours": ""} for row in expected
        ]


def test_train_reports_what_is_read_and_scored(training_audio, tmp_path):
    reports = Reports()
    short = replace(CONFIG, train=replace(PLAN, steps=1))
    train(short, job(training_audio, tmp_path / "run"), reports)
    assert reports.stages == [
        ("reading validation pairs: 2", 0, 2),
        ("reading validation pairs: 2", 1, 2),
        ("step 1: scoring validation pairs: 2", 0, 2),
        ("step 1: scoring validation pairs: 2", 1, 2),
        ("step 1: scoring validation pairs: 2", 2, 2),
    ]


def test_train_killed_in_validation_validates_on_resume(
    finished_run, training_audio, tmp_path, monkeypatch
):
    def killed(*_):
        raise SystemExit(137)

    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr("qse.train.validation.validate", killed)
        train(CONFIG, job(training_audio, tmp_path / "run"))
    train(CONFIG, job(training_audio, tmp_path / "run", resume=True))
    assert lines(tmp_path / "run" / "valid.csv") == lines(finished_run[0] / "valid.csv")


def test_train_stops_during_validation(finished_run, training_audio, tmp_path, monkeypatch):
    scored = []

    def score(output):
        os.kill(os.getpid(), signal.SIGTERM)
        scored.append(output.number)
        return output.number, dict.fromkeys(METRICS, 0.0)

    with monkeypatch.context() as patch:
        patch.setattr("qse.train.score_worker.scores", score)
        train(CONFIG, job(training_audio, tmp_path / "run"))
    assert len(scored) == 1 and not (tmp_path / "run/valid.csv").exists()
    # which was not due
    assert weights.load_tensors(tmp_path / "run/checkpoint.safetensors")[1]["step"] == "4"
    train(CONFIG, job(training_audio, tmp_path / "run", resume=True))
    assert lines(tmp_path / "run/valid.csv") == lines(finished_run[0] / "valid.csv")


def test_train_resume_of_a_finished_run_changes_nothing(finished_run, training_audio):
    out, _ = finished_run
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    train(CONFIG, job(training_audio, out, resume=True))
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_train_time_limit_leaves_a_checkpoint(training_audio, tmp_path):
    train(CONFIG, job(training_audio, tmp_path / "run", valid=None, hours=0))
    assert weights.load_tensors(tmp_path / "run/checkpoint.safetensors")[1]["step"] == "1"


def test_train_failing_resume_changes_nothing(finished_run, training_audio, tmp_path):
    shutil.copytree(finished_run[0], tmp_path / "run")
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    other = replace(CONFIG, train=replace(CONFIG.train, learning_rate=0.5))
    with pytest.raises(QseError, match="no such folder"):
        train(
            other,
            job(tmp_path / "typo", tmp_path / "run", resume=True, valid=training_audio / "valid"),
        )
    wider = replace(other, model={**TINY, "blocks": 2})
    with pytest.raises((QseError, RuntimeError)):
        train(wider, job(training_audio, tmp_path / "run", resume=True))
    assert before == {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_train_resume_of_a_private_checkpoint_is_private(finished_run, training_audio, tmp_path):
    """Also of one that a link in the place of the run's leads to."""
    out = shutil.copytree(finished_run[0], tmp_path / "run")
    (out / "best.safetensors").unlink()
    (out / "checkpoint.safetensors").rename(tmp_path / "private").chmod(0o600)
    (out / "checkpoint.safetensors").symlink_to(tmp_path / "private")
    longer = replace(CONFIG, train=replace(PLAN, steps=PLAN.steps + 2))
    train(longer, job(training_audio, out, resume=True))
    for name in ("checkpoint.safetensors", "best.safetensors"):
        assert (out / name).stat().st_mode & 0o777 == 0o600
    assert not (out / "checkpoint.safetensors").is_symlink()


def test_train_resume_without_best_keeps_a_new_one(finished_run, training_audio, tmp_path):
    out = tmp_path / "same"
    out.mkdir()
    for name in ("checkpoint.safetensors", "config.toml"):
        shutil.copyfile(finished_run[0] / name, out / name)
    steps = CONFIG.train.steps + 1
    train(
        replace(CONFIG, train=replace(CONFIG.train, steps=steps)),
        job(training_audio, out, resume=True),
    )
    assert weights.load_tensors(out / "best.safetensors")[1]["step"] == str(steps)


def test_train_resume_ignores_scores_of_other_pairs(finished_run, training_audio, tmp_path):
    shutil.copytree(finished_run[0], out := tmp_path / "same")
    shutil.copytree(training_audio / "valid", harder := tmp_path / "harder")
    for path in (harder / "noisy").iterdir():
        soundfile.write(
            path,
            soundfile.read(path)[0] + 0.3 * np.random.default_rng(0).standard_normal(20000),
            16000,
        )
    one = replace(CONFIG, train=replace(CONFIG.train, steps=CONFIG.train.steps + 1))
    two = replace(CONFIG, train=replace(CONFIG.train, steps=CONFIG.train.steps + 2))
    train(one, job(training_audio, out, resume=True, valid=None))
    bests = (
        weights.load_tensors(folder / "checkpoint.safetensors")[1]["best"]
        for folder in (out, finished_run[0])
    )
    assert len(set(bests)) == 1
    train(two, job(training_audio, out, resume=True, valid=harder))
    assert weights.load_tensors(out / "best.safetensors")[1]["step"] == str(two.train.steps)


def test_weights_step_names_best_and_last(training_audio, tmp_path):
    out = tmp_path / "run"
    train(CONFIG, job(training_audio, out, hours=0))
    train(CONFIG, job(training_audio, out, resume=True, valid=None))
    assert weights_step(out) == "1 of 7"
    (out / "best.safetensors").unlink()
    assert weights_step(out) == "7"

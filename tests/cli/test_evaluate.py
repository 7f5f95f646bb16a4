"""qse evaluate: exit status, options."""

import json
import os
import stat

import pytest
import soxr
import typer
from evaluation_files import write
from qse_cli.evaluate import evaluate as command
from speech import hiss, voice
from typer.testing import CliRunner

from qse.errors import UsageError
from qse.evaluate.store import read_rows


@pytest.fixture
def run():
    app = typer.Typer()
    app.command()(command)
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def corpus(tmp_path):
    """clean/ and noisy/ with three utterances."""
    for place in range(3):
        clean = voice(1.0, pitch=100 + 20 * place, start=place + 1)
        write(tmp_path / "clean" / f"u{place}.wav", clean)
        write(tmp_path / "noisy" / f"u{place}.wav", clean + 0.05 * hiss(len(clean), 99 + place))
    return tmp_path


def test_evaluate_exit_status(corpus, run):
    folders = "--clean", corpus / "clean", "--noisy", corpus / "noisy", "--out", corpus / "out"
    (corpus / "noisy" / "u2.wav").write_bytes(b"no audio")
    failed = run("noisy", *folders, "--metrics", "si_sdr", "--jobs", 1)
    assert failed.exit_code == 1 and "u2: " in failed.stderr and "u2.wav" in failed.stderr
    write(corpus / "noisy" / "u2.wav", voice(1.0) + 0.1 * hiss(16000))
    fine = run("noisy", *folders, "--metrics", "si_sdr", "--jobs", 1)
    assert fine.exit_code == 0 and "| SI-SDR dB | " in fine.stdout


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_evaluate_by_a_private_table_is_private(corpus, run):
    (corpus / "by.tsv").write_text("name\tkind\nu0\tprivate\n")
    (corpus / "by.tsv").chmod(0o600)
    folders = "--clean", corpus / "clean", "--noisy", corpus / "noisy", "--out", corpus / "out"
    options = "--metrics", "si_sdr", "--jobs", 1, "--against", "noisy"
    by = "--groups", corpus / "by.tsv", "--by", "kind"
    assert run("noisy", *folders, *options, *by).exit_code == 0
    results = [*corpus.glob("out/**/summary.*")]
    assert len(results) == 4
    for path in results:
        assert "private" in path.read_text() and stat.S_IMODE(path.stat().st_mode) == 0o600


def test_evaluate_names_damaged_utterances(corpus, run):
    """Also where nothing is computed again."""
    path = corpus / "noisy" / "u1.wav"
    path.write_bytes(path.read_bytes()[:-10])
    folders = "--clean", corpus / "clean", "--noisy", corpus / "noisy", "--out", corpus / "out"
    for _ in range(2):
        done = run("noisy", *folders, "--metrics", "si_sdr", "--jobs", 1)
        assert done.exit_code == 0 and "1 of damaged files" in done.stdout
        assert done.stderr.count(f"qse: warning: u1: {path} may be cut") == 1
    (row,) = [row for row in read_rows(corpus / "out" / "scores.csv") if "damage" in row]
    assert row["name"] == "u1" and "may be cut" in row["damage"]


def test_evaluate_names_options_in_errors(corpus, run):
    folders = "--clean", corpus / "clean", "--noisy", corpus / "noisy", "--out", corpus / "out"
    done = run("noisy", *folders, "--metrics", "si_sdr", "--jobs", 1, "--sample-rate", 48000)
    assert (
        done.exit_code == 1
        and "has 16000 Hz: evaluate with --sample-rate 16000, or without" in done.stderr
    )


def test_evaluate_names_options_in_errors_of_a_system(corpus, run, monkeypatch):
    def refuse(*arguments, **options):
        raise UsageError("works at 16000 Hz: evaluate with sample_rate=16000")

    monkeypatch.setattr("qse.evaluate.evaluation.evaluate", refuse)
    done = run("noisy", "--noisy", corpus / "noisy")
    assert isinstance(done.exception, UsageError)
    assert str(done.exception) == "works at 16000 Hz: evaluate with --sample-rate 16000"


def test_evaluate_against_a_system_of_the_same_name(corpus, run, monkeypatch):
    """Found before anything is scored; the results of the first system stay."""
    monkeypatch.chdir(corpus)
    (corpus / "old").mkdir()
    (corpus / "clean").rename(corpus / "old/system")
    folders = "--clean", corpus / "old/system", "--noisy", corpus / "noisy"
    (corpus / "system").symlink_to(corpus / "noisy")
    options = "--metrics", "si_sdr", "--jobs", 1
    done = run("noisy", *folders, *options, "--against", "noisy")
    assert done.exit_code == 0 and "minus" in done.stdout, done.stderr
    assert (corpus / "runs/evaluate/noisy/noisy/scores.csv").is_file()


def test_evaluate_against_uses_the_rate_of_the_first(tmp_path, run):
    for place in range(2):
        clean = voice(1.0, start=place + 1)
        write(tmp_path / "out16" / f"u{place}.wav", clean)
        for folder in ("clean", "noisy"):
            write(tmp_path / folder / f"u{place}.wav", soxr.resample(clean, 16000, 48000), 48000)
    folders = "--clean", tmp_path / "clean", "--noisy", tmp_path / "noisy"
    options = "--metrics", "si_sdr", "--jobs", 1, "--out", tmp_path / "results"
    done = run(tmp_path / "out16", *folders, *options, "--against", "noisy")
    assert done.exit_code == 0, done.stderr
    settings = (tmp_path / "results/noisy/settings.json").read_text()
    assert json.loads(settings)["sample_rate"] == 16000


def test_evaluate_against_another_system(corpus, run, monkeypatch):
    """The noisy signals against themselves, scored again or from results: no difference."""
    monkeypatch.chdir(corpus)
    folders = "--clean", "clean", "--noisy", "noisy", "--metrics", "si_sdr", "--jobs", 1
    first = run("clean", *folders, "--out", "results/clean")
    done = run("noisy", *folders, "--out", "results/noisy", "--against", "noisy")
    assert "| results/noisy minus results/noisy/noisy |" in done.stdout, done.stderr
    assert "| SI-SDR dB | 3 | +0.00 * " in done.stdout
    other = "--clean", "clean", "--noisy", "clean", "--metrics", "si_sdr", "--jobs", 1
    elsewhere = run("clean", *other, "--out", "others/clean", "--against", "noisy")
    assert elsewhere.exit_code == 0, elsewhere.stderr
    both = run("results/noisy", "--against", "results/clean")
    assert first.exit_code == both.exit_code == 0
    assert "noisy minus clean" in both.stdout and "| SI-SDR dB | 3 | -" in both.stdout


def test_evaluate_refuses_a_device_for_what_pytorch_does_not_run(corpus, run):
    done = run("noisy", "--noisy", corpus / "noisy", "--device", "cuda")
    assert isinstance(done.exception, UsageError)
    assert "device=cuda is for the folder of a run: noisy is not" in str(done.exception)

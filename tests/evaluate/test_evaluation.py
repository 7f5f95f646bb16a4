"""Complete evaluations: tables, plots, groups, lead-in, sample rates, requests that are refused."""

import csv
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import graphs
import numpy as np
import pytest
import soxr
from evaluation_files import write
from speech import SAMPLE_RATE, hiss, voice

from qse.data import datasets
from qse.data.datasets import test_pairs as pairs_of_corpus
from qse.data.recordings import read_mono
from qse.errors import QseError, UsageError
from qse.evaluate import scoring
from qse.evaluate.evaluation import Evaluation, evaluate, read_groups
from qse.evaluate.metrics import METRICS, Metric, add_metric
from qse.evaluate.store import read_rows


def pairs_in(folder: Path, clean: bool = True, lead_in: int = 0):
    pairs = datasets.pair_folders(folder / "noisy", folder / "clean" if clean else None)
    return datasets.with_lead_in(pairs, lead_in)


def evaluated(system, pairs, metrics, out=None, **options) -> Evaluation:
    """Evaluate, and write the summary where there is a folder."""
    result = evaluate(system, pairs, out, metrics=metrics, **options)
    if out:
        result.write()
    return result


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_pictures_of_private_outputs_are_private(corpus):
    pytest.importorskip("matplotlib")
    pairs = pairs_in(corpus)
    (corpus / "enhanced").mkdir()
    for pair in pairs:
        shutil.copyfile(pair.noisy, corpus / "enhanced" / pair.noisy.name)
        (corpus / "enhanced" / pair.noisy.name).chmod(0o600)
    evaluated(str(corpus / "enhanced"), pairs, ["si_sdr"], corpus / "out").plot()
    for name in ("spectrograms.png", "worst-si_sdr.png"):
        assert stat.S_IMODE((corpus / "out" / name).stat().st_mode) == 0o600


def test_evaluation_writes_tables_and_plots(corpus, models, monkeypatch):
    monkeypatch.setattr("qse.evaluate.report_plots.WORST", 1)
    lines = [f"u{n}\tk{n % 2}\t{n // 3}\n" for n in range(5)]
    (corpus / "by.tsv").write_text("id\tkind\thalf\n" + "".join(lines))
    pairs = pairs_in(corpus)
    result = evaluate("live-base", pairs, corpus / "out", metrics="stoi,SI-SDR")
    text = result.write(read_groups(corpus / "by.tsv", ("kind", "half"), pairs))
    result.plot()
    found = json.loads((corpus / "out" / "summary.json").read_text())
    assert found["utterances"] == 5 and found["rtf"] > 0 and found["settings"]["threads"] == 1
    assert {key: list(groups) for key, groups in found["groups"].items()} == {
        "kind": ["k0", "k1"],
        "half": ["0", "1"],
    }
    assert found["gain"]["stoi"]["n"] == 5 and found["groups"]["half"]["0"]["utterances"] == 3
    assert text == (corpus / "out" / "summary.md").read_text()
    assert re.search(r"STOI by kind\n.*\n\| k1 +\| 2 \|", text, re.DOTALL)
    assert max(map(len, text.splitlines())) <= 80
    for name in ("histogram-stoi", "histogram-si_sdr", "worst-stoi", "worst-si_sdr"):
        assert (corpus / "out" / f"{name}.png").is_file()
    assert (corpus / "out" / "spectrograms.png").is_file()
    with (corpus / "out" / "scores.csv").open() as file:
        assert next(csv.reader(file))[:4] == ["name", "audio_s", "process_s", "stoi"]


def test_lead_in_is_processed_and_not_scored(corpus, models):
    from qse import denoise, load

    after_two = pairs_in(corpus, lead_in=2)
    outcome = evaluated("recurrent", after_two, "si_sdr", corpus / "out")
    assert "each processed after 2 others" in outcome.text()
    rows = read_rows(corpus / "out" / "scores.csv")
    stream = [read_mono(corpus / "noisy" / f"u{place}.wav")[0] for place in (3, 4, 0)]
    enhanced = denoise(np.concatenate(stream).astype(np.float32), SAMPLE_RATE, load("recurrent"))[
        32000:
    ]
    clean = read_mono(corpus / "clean" / "u0.wav")[0]
    assert (
        rows[0]["si_sdr"]
        == scoring.score_pair(clean=clean, enhanced=enhanced, metrics=["si_sdr"])["si_sdr"]
    )
    every = datasets.with_lead_in(datasets.pair_folders(corpus / "noisy", corpus / "clean"), 99)
    # all others, and not itself
    assert [path.stem for path in every[1].lead_in] == [
        "u2",
        "u3",
        "u4",
        "u0",
    ]
    evaluated("recurrent", pairs_in(corpus), "si_sdr", corpus / "alone")
    assert (
        read_rows(corpus / "alone" / "scores.csv")[0]["si_sdr"] != rows[0]["si_sdr"]
        and rows[0]["audio_s"] == 1.0
    )
    (corpus / "noisy" / "u4.wav").write_bytes(b"no audio")
    evaluated("recurrent", after_two, "si_sdr", corpus / "out")
    said = [row.get("error", "") for row in read_rows(corpus / "out" / "scores.csv")]
    assert ["u4.wav" in error for error in said] == [True, True, False, False, True]
    with pytest.raises(
        UsageError, match="lead_in needs a model that processes what comes before, not noisy"
    ):
        evaluate("noisy", after_two, metrics="si_sdr")


def test_groups_of_other_utterances_are_refused(corpus):
    (corpus / "by.tsv").write_text("file\tkind\nu0.wav\tk0\n")
    with pytest.raises(
        QseError, match=r"by.tsv names none of the utterances: they are called u0 and"
    ):
        read_groups(corpus / "by.tsv", ("kind",), pairs_in(corpus))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "give the test data"),
        (["--dataset", "timit", "--data", "."], "there are voicebank, dns3"),
        (["--dataset", "dns3"], "needs --data DIR"),
        (["--dataset", "dns3", "--noisy", "noisy"], "takes no --noisy"),
        (["--noisy", "noisy", "--metrics", "stoi"], "stoi needs the clean files"),
        (["--noisy", "noisy", "--metrics", "stio"], "no metric called 'stio'; did you mean stoi"),
        (["--noisy", "noisy", "--by", "kind"], "--groups FILE and --by COLUMN go together"),
        (["--noisy", "noisy", "--lead-in", "2"], "--lead-in needs a model"),
    ],
)
def test_command_refuses_bad_requests(corpus, monkeypatch, command, options, words):
    monkeypatch.chdir(corpus)
    status, _, said = command("evaluate", "noisy", *options)
    assert status == 2 and words in " ".join(said.split())
    assert not (corpus / "runs").exists()


def loudness(*, enhanced, sample_rate):
    """A metric of one's own: the level in dB."""
    return float(10 * np.log10(np.square(enhanced).mean()))


@pytest.fixture
def own_metric():
    add_metric("loudness", Metric("level dB", loudness, 1, needs_clean=False))
    yield
    del METRICS["loudness"]


def half(noisy, sample_rate):
    return 0.5 * noisy


@pytest.mark.parametrize("jobs", [0, 2])
def test_evaluate_with_a_function_and_a_metric_of_ones_own(corpus, own_metric, jobs):
    result = evaluate(half, pairs_in(corpus), metrics=["loudness", "si_sdr"], jobs=jobs)
    assert result.folder is None and not result.failed
    assert result.findings["gain"]["loudness"]["mean"] == pytest.approx(20 * np.log10(0.5))
    assert result.findings["gain"]["si_sdr"]["mean"] == pytest.approx(0, abs=1e-3)
    assert re.search(r"^\| metric +\| noisy +\| half +\| gain +\|\n", result.text())
    assert "| level dB " in result.text() and "; RTF 0.0" in result.text().replace("\n", " ")
    with pytest.raises(QseError, match="in memory: give evaluate a folder"):
        result.write()


def test_two_evaluations_do_not_write_into_one_folder(corpus):
    def twice(noisy, sample_rate):
        with pytest.raises(QseError, match="out: another process evaluates into it"):
            evaluated("noisy", pairs_in(corpus), "si_sdr", corpus / "out")
        return noisy

    result = evaluated(twice, pairs_in(corpus), "si_sdr", corpus / "out")
    assert not result.failed and len(read_rows(corpus / "out" / "scores.csv")) == len(result.rows)
    assert not list((corpus / "out").glob(".qse*"))


def test_evaluate_a_function_never_reuses_the_scores_of_another(corpus):
    pairs = pairs_in(corpus)
    for gain in (0.5, 0.25):
        (corpus / "out/summary.json").unlink(missing_ok=True)

        def quieter(noisy, sample_rate, gain=gain):
            return gain * noisy

        found = evaluate(quieter, pairs, corpus / "out", metrics="noise_reduction")
        assert found.means["noise_reduction"] == pytest.approx(-20 * np.log10(gain), abs=0.01)


def test_evaluate_computes_a_metric_that_was_added_again(corpus, own_metric):
    for value in (1.0, 2.0, 2.0):
        add_metric("loudness", Metric("level", lambda *, value=value, **_: value))
        found = evaluate("noisy", pairs_in(corpus), corpus / "out", metrics="loudness")
        assert found.means["loudness"] == value and not found.saved
        found.write()
    assert evaluate("noisy", pairs_in(corpus), corpus / "out", metrics="loudness").saved


def test_evaluate_keeps_signals_from_metrics_of_ones_own(corpus, own_metric):
    def in_place(*, clean, enhanced, sample_rate):
        enhanced -= 0.1
        return 0.0

    add_metric("loudness", Metric("level", in_place))
    found = evaluate("noisy", pairs_in(corpus), metrics="loudness,si_sdr")
    alone = evaluate("noisy", pairs_in(corpus), metrics="si_sdr")
    assert found.means["si_sdr"] == alone.means["si_sdr"]
    assert all("loudness: " in error and "read-only" in error for error in found.failed.values())


@pytest.mark.parametrize("name", ["Loud", "si_sdr", "pesq", "a b", "delay", "name", "noisy_level"])
def test_add_metric_refuses_names(name):
    with pytest.raises(ValueError, match=f"metric '{name}'"):
        add_metric(name, Metric("x", loudness))


def test_evaluate_refuses_what_is_no_system(corpus):
    with pytest.raises(QseError, match="no system to evaluate"):
        evaluate(3, pairs_in(corpus))
    with pytest.raises(QseError, match="no pairs"):
        evaluate("noisy", [])
    with pytest.raises(TypeError, match="pair_folders"):
        evaluate("noisy", "folder")


@pytest.fixture
def full_band(tmp_path):
    """clean/, noisy/ and better/ at 48 kHz, noise above 8 kHz; better/ has a tenth of it."""
    clean = soxr.resample(voice(1.0), 16000, 48000) + 0.01 * hiss(48000, 3)
    noise = 0.05 * hiss(48000, 7)
    for place in range(2):
        write(tmp_path / "clean" / f"u{place}.wav", clean, 48000)
        write(tmp_path / "noisy" / f"u{place}.wav", clean + noise, 48000)
        write(tmp_path / "better" / f"u{place}.wav", clean + 0.1 * noise, 48000)
    return tmp_path


def mean_of(result, metric, side="enhanced"):
    return json.loads((result.folder / "summary.json").read_text())[side][metric]["mean"]


@pytest.mark.parametrize("system, reduction", [("noisy", 0.0), ("better", 20.0)])
def test_evaluation_at_48_khz_of_files(full_band, monkeypatch, system, reduction):
    """All files at 48 kHz, and a system that makes such files: evaluated at 48 kHz by default."""
    monkeypatch.chdir(full_band)
    data = pairs_in(Path())
    result = evaluated(system, data, "si_sdr,stoi,band_snr,noise_reduction", Path("out"))
    snr = 10 * np.log10(0.01**2 / 0.05**2) + reduction
    assert "evaluated at 48 kHz" in result.text()
    assert mean_of(result, "band_snr") == pytest.approx(snr, abs=1)
    low = evaluated(system, data, "si_sdr,stoi", Path("low"), sample_rate=16000)
    assert "evaluated at 16 kHz" in low.text()
    assert mean_of(low, "stoi") == mean_of(result, "stoi")
    assert mean_of(low, "si_sdr") > mean_of(result, "si_sdr") + 1


def test_evaluation_at_48_khz_of_a_model(full_band, monkeypatch, tmp_path):
    """A model for 48 kHz runs at 48 kHz by default, a model for 16 kHz only on request."""
    graphs.delay(tmp_path / "wide" / "model.onnx", sample_rate=48000)
    graphs.delay(tmp_path / "narrow" / "model.onnx")
    data = pairs_in(full_band)
    wide = evaluated(str(tmp_path / "wide"), data, "band_snr,si_sdr", tmp_path / "1")
    # a pure delay
    assert mean_of(wide, "band_snr") == pytest.approx(mean_of(wide, "band_snr", "noisy"), abs=1e-3)
    narrow = evaluated(str(tmp_path / "narrow"), data, "si_sdr", tmp_path / "2")
    assert "evaluated at 16 kHz" in narrow.text()
    narrow = evaluated(
        str(tmp_path / "narrow"), data, "band_snr", tmp_path / "3", sample_rate=48000
    )
    assert mean_of(narrow, "band_snr") == pytest.approx(0, abs=0.5)  # nothing above 8 kHz


def test_evaluation_at_48_khz_takes_the_full_band_graph(full_band, tmp_path):
    graphs.delay(tmp_path / "both" / "model.onnx")
    graphs.delay(tmp_path / "full" / "model-48k.onnx", sample_rate=48000)
    (tmp_path / "full" / "model-48k.onnx").rename(tmp_path / "both" / "model-48k.onnx")
    data = pairs_in(full_band)
    wide = evaluated(str(tmp_path / "both"), data, "band_snr", tmp_path / "1")
    assert re.search(r"^\| metric .*\| both ", wide.text())
    assert mean_of(wide, "band_snr") == pytest.approx(mean_of(wide, "band_snr", "noisy"), abs=1e-3)
    settings = json.loads((tmp_path / "1" / "settings.json").read_text())
    assert settings["model"].endswith("model-48k.onnx") and settings["sample_rate"] == 48000
    narrow = evaluated(str(tmp_path / "both"), data, "si_sdr", tmp_path / "2", sample_rate=16000)
    assert json.loads((narrow.folder / "settings.json").read_text())["model"].endswith("model.onnx")


def test_evaluation_refuses_rates_above_the_files(full_band, monkeypatch):
    (full_band / "noisy" / "u0.wav").unlink()
    for side in ("noisy", "clean"):
        write(full_band / side / "u0.wav", voice(1.0))
    data = pairs_in(full_band)
    mixed = evaluated("noisy", data, "si_sdr", full_band / "mixed")
    assert not mixed.failed and "evaluated at 16 kHz" in mixed.text()  # rates differ
    result = evaluated("noisy", data, "si_sdr", full_band / "out", sample_rate=48000)
    assert (
        list(result.failed) == ["u0"]
        and "has 16000 Hz: evaluate with sample_rate=16000" in result.failed["u0"]
    )


@pytest.fixture
def voicebank(tmp_path):
    """A corpus at 48 kHz in 16 bits, with digital silence in its clean file."""
    clean = soxr.resample(voice(2.0), 16000, 48000)
    clean[24000:48000] = 0
    for side, audio in (("clean", clean), ("noisy", clean + 0.05 * hiss(96000))):
        write(tmp_path / f"{side}_testset_wav" / "p232_001.wav", audio, 48000)
    return tmp_path


def test_every_route_gives_the_same_csig(voicebank):
    """Exact zeros at 48 kHz are no exact zeros after conversion, unless a copy is rounded."""
    before = {path: path.stat().st_mtime_ns for path in voicebank.rglob("*")}
    corpus = evaluated("noisy", pairs_of_corpus("voicebank", voicebank), "csig", sample_rate=16000)
    sides = (voicebank / f"{side}_testset_wav" for side in ("noisy", "clean"))
    folders = evaluated("noisy", datasets.pair_folders(*sides), "csig")
    assert corpus.rows[0]["csig"] == folders.rows[0]["csig"]
    assert (corpus.sample_rate, folders.sample_rate) == (16000, 48000)
    assert {path: path.stat().st_mtime_ns for path in voicebank.rglob("*")} == before


def test_evaluation_imports_no_torch():
    code = "import sys, qse.evaluate.evaluation, qse_cli.evaluate\n"
    code += "sys.exit(bool({'torch', 'pesq'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

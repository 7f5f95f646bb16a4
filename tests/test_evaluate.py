"""Evaluation of whole folders: pairs, official layouts, rows that survive, intervals, tables, pictures, the command."""

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
import typer
from qse_cli.evaluate import evaluate as command
from qse_cli.plot import plot as plot_command
from speech import SAMPLE_RATE, hiss, voice
from typer.testing import CliRunner

from qse.data import datasets
from qse.errors import QseError, UsageError
from qse.evaluate import metrics, pool, report, runner, score, summary
from qse.evaluate.plot import levels, plot_grid, plot_spectrograms
from qse.evaluate.store import read_rows
from qse.evaluate.study import Source, study
from qse.evaluate.systems import System, enhanced_files, find_system, opened

NOISY = System("noisy", "noisy")
FAST = ("stoi", "si_sdr")


def write(path: Path, audio: np.ndarray, sample_rate: int = SAMPLE_RATE) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, audio, sample_rate)
    return path


@pytest.fixture
def corpus(tmp_path) -> Path:
    """clean/ and noisy/ with five utterances, u0 to u4, ever louder noise."""
    for place in range(5):
        clean = voice(1.0, pitch=100 + 20 * place, start=place + 1)
        write(tmp_path / "clean" / f"u{place}.wav", clean)
        write(tmp_path / "noisy" / f"u{place}.wav", clean + 0.01 * (place + 1) * hiss(len(clean), 99 + place))
    return tmp_path


def rows_of(corpus: Path, system: System = NOISY, **options) -> list[dict]:
    pairs = datasets.pair_folders(corpus / "noisy", corpus / "clean")
    return runner.evaluate(system, pairs, corpus / "out", **{"metrics": FAST, "jobs": 0, **options})


def test_pairs_are_files_of_one_name_whatever_their_suffix(tmp_path):
    for path in ("noisy/a.wav", "noisy/b/c.flac", "noisy/x_snr5_fileid_7.wav", "clean/a.flac", "clean/b/c.wav"):
        write(tmp_path / path, np.zeros(10))
    write(tmp_path / "clean/clean_fileid_7.wav", np.zeros(10))
    write(tmp_path / "clean/d.wav", np.zeros(10))
    pairs = datasets.pair_folders(tmp_path / "noisy", tmp_path / "clean")
    assert [pair.name for pair in pairs] == ["a", "b/c", "d", "fileid_7"]
    assert pairs[2].noisy is None and pairs[3].clean.name == "clean_fileid_7.wav"
    write(tmp_path / "noisy/b/y_fileid_7.wav", np.zeros(10))  # a mark that tells no more who belongs to whom
    names = ["a", "b/c", "b/y_fileid_7", "x_snr5_fileid_7"]
    assert [pair.name for pair in datasets.pair_folders(tmp_path / "noisy")] == names
    write(tmp_path / "enhanced/x_snr5_fileid_7.wav", np.zeros(10))  # one of the two: found by its name or its mark
    assert set(enhanced_files(tmp_path / "enhanced")) == {"x_snr5_fileid_7", "fileid_7"}
    write(tmp_path / "clean/a.wav", np.zeros(10))
    with pytest.raises(QseError, match=r"both called a"):
        datasets.pair_folders(tmp_path / "noisy", tmp_path / "clean")


def test_voicebank_at_48_khz_is_converted_once(tmp_path):
    tone = 0.5 * np.sin(2 * np.pi * 1000 * np.arange(48000) / 48000)
    for side in ("clean", "noisy"):
        for part in ("trainset_28spk", "testset"):
            write(tmp_path / f"{side}_{part}_wav" / "p232_001.wav", tone, 48000)
    (pair,) = datasets.voicebank(tmp_path, "test")
    audio, sample_rate = datasets.read_mono(pair.clean)
    middle = np.arange(2000, 14000)
    assert (len(audio), sample_rate) == (16000, 16000)
    np.testing.assert_allclose(audio[middle], 0.5 * np.sin(2 * np.pi * 1000 * middle / 16000), atol=1e-4)
    written = pair.clean.stat().st_mtime_ns
    assert datasets.voicebank(tmp_path, "test") == [pair] and pair.clean.stat().st_mtime_ns == written
    assert [p.name for p in datasets.voicebank(tmp_path, "train")] == ["p232_001"]


def test_voicebank_at_16_khz_is_taken_as_it_is_and_damage_is_left_to_the_reader(tmp_path):
    for side in ("clean", "noisy"):
        write(tmp_path / f"{side}_testset_wav" / "p232_001.wav", np.zeros(100))
    (tmp_path / "noisy_testset_wav" / "p232_002.wav").write_bytes(b"no audio")
    first, second = datasets.voicebank(tmp_path)
    assert first.noisy.parent.name == "noisy_testset_wav" and not (tmp_path / "16kHz").exists()
    assert second.clean is None and second.noisy.name == "p232_002.wav"
    with pytest.raises(QseError, match="has no folder noisy_trainset_28spk_wav"):
        datasets.voicebank(tmp_path, "train")


def test_dns3_is_found_from_its_folder_and_from_the_one_above(tmp_path):
    root = tmp_path / "datasets"
    for path in ("clean/german_speech/a.wav", "clean/read_speech/b.wav", "noise/n.wav", "dev_testset/t_fileid_3.wav"):
        write(root / path, np.zeros(100))
    for path in ("impulse_responses/SLR26/simulated/r.wav", "impulse_responses/SLR28/real/s.wav"):
        write(root / path, np.zeros(100))
    for path in (
        "pointsource_noises/noise-free-sound-0000.wav",
        "real_rirs_isotropic_noises/RVB2014_type1_noise_1.wav",
    ):
        write(root / "impulse_responses/SLR28" / path, np.zeros(100))
    for folder in (root, tmp_path):
        found = datasets.dns3(folder)
        assert [len(found.clean), len(found.noise), len(found.impulse_responses)] == [2, 1, 2]
        assert datasets.dns3_test(folder) == [datasets.Pair("fileid_3", root / "dev_testset/t_fileid_3.wav")]


def test_rows_hold_what_the_metrics_say(corpus):
    rows = rows_of(corpus)
    clean, noisy = (datasets.read_mono(corpus / side / "u3.wav")[0] for side in ("clean", "noisy"))
    assert {name: rows[3][name] for name in FAST} == metrics.score_pair(clean=clean, enhanced=noisy, metrics=FAST)
    assert [row["name"] for row in rows] == ["u0", "u1", "u2", "u3", "u4"] and rows[0]["audio_s"] == 1.0
    assert read_rows(corpus / "out" / "scores.csv") == rows


def test_what_is_wrong_with_a_file_is_said_and_the_rest_is_done(corpus):
    (corpus / "noisy" / "u0.wav").write_bytes(b"no audio")
    write(corpus / "clean" / "u1.wav", voice(1.0)[:-5])
    write(corpus / "noisy" / "u2.wav", voice(1.0), 8000)
    (corpus / "clean" / "u3.wav").unlink()
    write(corpus / "noisy" / "u5.wav", voice(1.0))
    write(corpus / "clean" / "u5.wav", np.zeros((16000, 2)))
    write(corpus / "noisy" / "u6.wav", np.zeros(16000))
    write(corpus / "clean" / "u6.wav", voice(1.0))
    write(corpus / "noisy" / "u7.wav", voice(1.0))
    soundfile.write(corpus / "clean" / "u7.wav", np.append(voice(1.0)[:-1], np.nan), 16000, "FLOAT")
    errors = {row["name"]: row.get("error") for row in rows_of(corpus)}
    said = ["cannot be read", "15995 samples", "8000 Hz", "no clean file of this name", None, "2 channels", "silent",
            "u7.wav holds samples that are NaN"]  # fmt: skip
    assert list(errors) == [f"u{place}" for place in range(8)]
    for words, error in zip(said, errors.values(), strict=True):
        assert error is None if words is None else words in error


def test_an_interrupted_run_goes_on_where_it_stopped(corpus):
    def interrupt(done, _):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rows_of(corpus, progress=interrupt)
    table = corpus / "out" / "scores.csv"
    lines = table.read_text().splitlines()
    cells = lines[1].split(",")
    cells[3] = "0.125"  # a value that scoring would never give: it stays only if the row is not done again
    table.write_text("\n".join([lines[0], ",".join(cells), lines[2], lines[3][:9]]))  # the last row half written
    counts = []
    rows = rows_of(corpus, progress=lambda done, total: counts.append((done, total)))
    assert counts == [(3, 5), (4, 5), (5, 5)]
    assert rows[0]["stoi"] == 0.125 and rows[2]["stoi"] > 0.5 and len(rows) == 5


def test_a_folder_never_mixes_two_evaluations(corpus):
    (corpus / "noisy" / "u0.wav").rename(corpus / "u0.wav")
    assert "error" in rows_of(corpus)[0]
    with pytest.raises(QseError, match=r"something else \(metrics differ\)"):
        rows_of(corpus, metrics=("si_sdr",))
    (corpus / "u0.wav").rename(corpus / "noisy" / "u0.wav")
    assert not any("error" in row for row in rows_of(corpus))  # the failed one is tried again
    (corpus / "out" / "summary.json").write_text("{}")
    with pytest.raises(QseError, match=r"something else \(noise differ\)"):
        rows_of(corpus, settings={"noise": "another"})


def test_rows_of_files_and_models_that_changed_since_are_done_again(corpus, models, tmp_path):
    def done_again(system):
        counts = []
        rows_of(corpus, system, progress=lambda done, total: counts.append(done))
        return len(counts)

    for place in range(5):
        shutil.copy(corpus / "noisy" / f"u{place}.wav", write(corpus / "better" / f"u{place}.wav", np.zeros(10)))
    folder, graph = find_system(str(corpus / "better")), tmp_path / "model.onnx"
    assert [done_again(folder), done_again(folder)] == [5, 0]
    shutil.copy(corpus / "clean" / "u1.wav", corpus / "better" / "u1.wav")
    assert done_again(folder) == 1
    os.utime(corpus / "noisy" / "u2.wav", ns=(0, 0))
    assert done_again(folder) == 1
    shutil.rmtree(corpus / "out")
    for name in ("live-base", "recurrent"):
        graph.write_bytes((models / name / "model.onnx").read_bytes())
        assert done_again(find_system(str(graph))) == 5


def test_a_model_is_scored_beside_the_noisy_signal(corpus, models):
    rows = rows_of(corpus, find_system("live-base"))  # a pure delay, so enhanced equals noisy
    for row in rows:
        assert row["stoi"] == pytest.approx(row["noisy_stoi"], abs=1e-5) and row["process_s"] > 0
    with pytest.raises(QseError, match="no model called live-bass"):
        find_system("live-bass")


def test_the_name_of_a_model_goes_before_a_folder(corpus, models, monkeypatch):
    monkeypatch.chdir(corpus)
    (corpus / "live-base").mkdir()
    assert find_system("live-base").kind == "model" and find_system("clean").kind == "folder"


def test_a_training_run_is_judged_by_its_averaged_weights(tmp_path):
    torch = pytest.importorskip("torch")
    from qse.networks import build_network, enhance
    from qse.train import checkpoint, run

    config = run.RunConfig({"network": "live"})
    network = build_network(config.model).eval()
    average = {f"average.{name}": value for name, value in network.state_dict().items()}
    others = {f"model.{name}": torch.zeros_like(value) for name, value in network.state_dict().items()}
    run.write_config(tmp_path / "config.toml", config)
    checkpoint.save(tmp_path / "best.safetensors", average | others, {})
    noisy = voice(0.5)
    with torch.no_grad():
        expected = enhance(network, torch.from_numpy(noisy.astype(np.float32))[None])[0].numpy()
    enhanced = opened(find_system(str(tmp_path)), 1)(noisy, SAMPLE_RATE)
    np.testing.assert_allclose(enhanced, expected, atol=1e-6)
    assert np.abs(expected).max() > 0.01


def test_a_folder_of_enhanced_files_is_a_system(corpus):
    for place in range(4):
        write(corpus / "better" / f"u{place}.flac", datasets.read_mono(corpus / "clean" / f"u{place}.wav")[0])
    rows = rows_of(corpus, find_system(str(corpus / "better")))
    assert all(row["si_sdr"] > 60 > row["noisy_si_sdr"] for row in rows[:4])
    assert "has no file called u4" in rows[4]["error"]


def test_files_at_48_khz_are_judged_at_16(corpus):
    import soxr

    for side in ("clean", "noisy"):
        audio = datasets.read_mono(corpus / side / "u2.wav")[0]
        write(corpus / "high" / side / "u2.wav", soxr.resample(audio, 16000, 48000), 48000)
    (row,) = rows_of(corpus / "high")
    assert row["stoi"] == pytest.approx(rows_of(corpus)[2]["stoi"], abs=2e-3) and row["audio_s"] == 1.0


def test_interval_is_the_bootstrap_of_the_mean(monkeypatch):
    values = np.random.default_rng(1).normal(3.0, 0.5, 400)
    found = report.interval(values)
    half = 1.96 * values.std() / 20  # the normal approximation
    assert found["mean"] == pytest.approx(values.mean()) and found["n"] == 400
    assert found["low"] == pytest.approx(values.mean() - half, abs=0.05 * half)
    assert found["high"] == pytest.approx(values.mean() + half, abs=0.05 * half)
    assert report.interval(values) == found
    monkeypatch.setattr(report, "SEED", 1)
    assert report.interval(values) != found


def test_interval_of_the_gain_is_that_of_the_pairs():
    spread = np.random.default_rng(2).normal(0, 5, 50)
    rows = [{"name": f"{n}", "si_sdr": 11.0 + x, "noisy_si_sdr": 10.0 + x} for n, x in enumerate(spread)]
    gain, means = report.gains(rows)["si_sdr"], summary(rows)
    assert gain["low"] == pytest.approx(1.0) and gain["high"] == pytest.approx(1.0)
    assert means["si_sdr"]["low"] < means["noisy_si_sdr"]["high"]  # side by side they would hide it


def test_table_has_the_papers_columns_and_the_noisy_row():
    names = ("si_sdr", "covl", "pesq_wb", "stoi", "csig", "cbak")
    rows = [{"name": "a", "audio_s": 2.0, "process_s": 0.1, **dict.fromkeys(names, 2.0)}]
    rows[0] |= {f"noisy_{name}": 1.5 for name in names}
    head, _, noisy, system, gain, *_ = report.table(report.findings("ours", rows)).splitlines()
    assert head == "| system | PESQ | CSIG | CBAK | COVL | STOI | SI-SDR dB | RTF |"
    assert noisy.startswith("| noisy | 1.500 (1.500 to 1.500) | 1.50 (")
    assert system.startswith("| ours | 2.000 (") and system.endswith("| 0.0500 |")
    assert gain.startswith("| gain | +0.500 (+0.500 to +0.500) |")


def test_groups_are_ordered_and_averaged_apart(tmp_path):
    (tmp_path / "groups.tsv").write_text("id\tsnr\na\t10\nb\t-2.5\nc\t10\n")
    groups = report.read_groups(tmp_path / "groups.tsv", "snr")
    rows = [{"name": name, "stoi": value} for name, value in (("a", 0.4), ("b", 0.1), ("c", 0.6), ("d", 0.9))]
    lines = report.group_table(rows, groups, "snr").splitlines()
    assert lines[2].startswith("| -2.5 | 1 | 0.1000") and lines[3].startswith("| 10 | 2 | 0.5000") and len(lines) == 4
    with pytest.raises(QseError, match="no column speaker: there are snr"):
        report.read_groups(tmp_path / "groups.tsv", "speaker")


def test_scores_in_memory_keep_their_order_and_their_failures():
    clean = voice(1.0)
    rows = score([(clean, clean), (clean, 0 * clean), (clean, clean + 0.1 * hiss(len(clean)))], metrics=FAST)
    assert [row["name"] for row in rows] == [0, 1, 2] and "silent" in rows[1]["error"]
    assert rows[0]["stoi"] > rows[2]["stoi"]
    assert summary(rows)["si_sdr"]["n"] == 2


def shaky(task: int) -> int:
    if task == 3:
        os._exit(1)  # as a fault in compiled code would
    return task


def test_a_task_that_kills_its_process_is_lost_alone():
    results = list(pool.spread(shaky, range(6), 2, lambda task: -task))
    assert sorted(results) == [-3, 0, 1, 2, 4, 5]


def test_levels_are_relative_to_a_full_sine_and_colours_are_shared(tmp_path):
    sine = np.sin(2 * np.pi * 1000 * np.arange(16000) / 16000)
    panel = levels(sine, 16000)
    assert panel.max() == pytest.approx(0.0, abs=0.01)
    assert panel[:, 60].argmax() * 16000 / 512 == 1000
    assert levels(np.zeros(10 * 60 * 16000), 16000).shape[1] < 5000
    assert levels(np.zeros(100), 10).shape == (2, 101)  # a log of some sensor, one value a frame
    import matplotlib.axes

    scales, draw = [], matplotlib.axes.Axes.imshow
    with pytest.MonkeyPatch.context() as patch:
        spy = lambda axis, image, **style: scales.append((style["vmin"], style["vmax"])) or draw(axis, image, **style)  # noqa: E731
        patch.setattr(matplotlib.axes.Axes, "imshow", spy)
        plot_spectrograms([("loud", sine, 16000), ("soft", 0.001 * sine, 16000)], tmp_path / "two.png")
    assert scales[0] == scales[1] and scales[0][1] == pytest.approx(0.0, abs=0.01)
    assert (tmp_path / "two.png").read_bytes().startswith(b"\x89PNG")


def test_a_grid_may_lack_the_clean_signal_of_some_utterances(tmp_path):
    noisy, enhanced, clean = ((name, np.sin(np.arange(4000)), 16000) for name in ("noisy", "enhanced", "clean"))
    plot_grid([[noisy, enhanced], [noisy, enhanced, clean]], tmp_path / "worst.png")
    assert (tmp_path / "worst.png").read_bytes().startswith(b"\x89PNG")


def test_study_writes_everything(corpus, models):
    (corpus / "by.tsv").write_text("id\tkind\n" + "".join(f"u{place}\tk{place % 2}\n" for place in range(5)))
    source = Source(noisy=corpus / "noisy", clean=corpus / "clean")
    options = {"jobs": 1, "groups": corpus / "by.tsv", "by": "kind", "plot": True}
    outcome = study("live-base", source, "stoi,si_sdr", corpus / "out", **options)
    found = json.loads((corpus / "out" / "summary.json").read_text())
    assert found["utterances"] == 5 and found["rtf"] > 0 and found["settings"]["threads"] == 1
    assert list(found["groups"]) == ["k0", "k1"] and found["gain"]["stoi"]["n"] == 5
    assert outcome.text == (corpus / "out" / "summary.md").read_text() and "| k1 | 2 |" in outcome.text
    pictures = {f"{kind}-{metric}.png" for kind in ("histogram", "worst") for metric in ("stoi", "si_sdr")}
    pictures |= {"spectrograms.png"}
    assert pictures <= {path.name for path in (corpus / "out").iterdir()}
    with (corpus / "out" / "scores.csv").open() as file:
        assert next(csv.reader(file))[:4] == ["name", "audio_s", "process_s", "stoi"]


def test_a_lead_in_is_heard_and_not_judged(corpus, models):
    from qse import denoise, load

    source = Source(noisy=corpus / "noisy", clean=corpus / "clean")
    outcome = study("recurrent", source, "si_sdr", corpus / "out", jobs=0, lead_in=2)
    assert "each heard behind the 2 before it" in outcome.text
    rows = read_rows(corpus / "out" / "scores.csv")
    stream = [datasets.read_mono(corpus / "noisy" / f"u{place}.wav")[0] for place in (3, 4, 0)]
    enhanced = denoise(np.concatenate(stream).astype(np.float32), SAMPLE_RATE, load("recurrent"))[32000:]
    clean = datasets.read_mono(corpus / "clean" / "u0.wav")[0]
    assert rows[0]["si_sdr"] == metrics.score_pair(clean=clean, enhanced=enhanced, metrics=["si_sdr"])["si_sdr"]
    whole = datasets.with_lead_in(datasets.pair_folders(corpus / "noisy", corpus / "clean"), 99)
    assert [path.stem for path in whole[1].lead_in] == ["u2", "u3", "u4", "u0"]  # all others, and not itself
    study("recurrent", source, "si_sdr", corpus / "alone", jobs=0)
    assert read_rows(corpus / "alone" / "scores.csv")[0]["si_sdr"] != rows[0]["si_sdr"] and rows[0]["audio_s"] == 1.0
    (corpus / "noisy" / "u4.wav").write_bytes(b"no audio")
    study("recurrent", source, "si_sdr", corpus / "out", jobs=0, lead_in=2)
    said = [row.get("error", "") for row in read_rows(corpus / "out" / "scores.csv")]
    assert ["u4.wav cannot be read" in error for error in said] == [True, True, False, False, True]
    with pytest.raises(UsageError, match="--lead-in needs a model"):
        study("noisy", source, "si_sdr", lead_in=2)


def test_groups_of_other_utterances_are_refused(corpus):
    (corpus / "by.tsv").write_text("file\tkind\nu0.wav\tk0\n")
    source = Source(noisy=corpus / "noisy", clean=corpus / "clean")
    with pytest.raises(QseError, match=r"by.tsv names none of the utterances: they are called u0 and"):
        study("noisy", source, "stoi", corpus / "out", jobs=0, groups=corpus / "by.tsv", by="kind")


def test_a_model_that_was_exchanged_is_opened_anew(corpus, models, tmp_path):
    pairs = Source(noisy=corpus / "noisy", clean=corpus / "clean").pairs()[:1]
    found, graph = [], tmp_path / "model.onnx"
    for name in ("live-base", "recurrent", "live-base"):
        graph.write_bytes((models / name / "model.onnx").read_bytes())
        found += runner.evaluate(find_system(str(graph)), pairs, tmp_path / str(len(found)), metrics=["si_sdr"], jobs=0)
    first, other, again = (row["si_sdr"] for row in found)
    assert first == again != other


@pytest.mark.parametrize(
    ("source", "metrics", "words"),
    [
        ({}, "stoi", "say what to evaluate on"),
        ({"dataset": "timit", "data": Path()}, "stoi", "there are voicebank, dns3"),
        ({"dataset": "dns3"}, "stoi", "needs --data DIR"),
        ({"noisy": "noisy"}, "stoi", "stoi needs the clean files"),
        ({"noisy": "noisy"}, "stio", "no metric called 'stio': there are pesq_wb"),
    ],
)
def test_a_request_without_sense_is_refused_before_any_work(corpus, monkeypatch, source, metrics, words):
    monkeypatch.chdir(corpus)
    source = {key: Path(value) if key == "noisy" else value for key, value in source.items()}
    with pytest.raises(UsageError, match=words):
        study("noisy", Source(**source), metrics)
    assert not (corpus / "runs").exists()


@pytest.fixture
def run():
    app = typer.Typer()
    app.command("evaluate")(command)
    app.command("plot")(plot_command)
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_commands_status_tells_whether_all_went_well(corpus, run):
    folders = "--clean", corpus / "clean", "--noisy", corpus / "noisy", "--out", corpus / "out"
    (corpus / "noisy" / "u2.wav").write_bytes(b"no audio")
    failed = run("evaluate", "noisy", *folders, "--metrics", "si_sdr", "--jobs", 1)
    assert failed.exit_code == 1 and "u2" in failed.stderr and "cannot be read" in failed.stderr
    write(corpus / "noisy" / "u2.wav", voice(1.0) + 0.1 * hiss(16000))
    fine = run("evaluate", "noisy", *folders, "--metrics", "si_sdr", "--jobs", 1)
    assert fine.exit_code == 0 and fine.stdout.startswith("| system | SI-SDR dB |")


def test_the_plot_command_draws_files_at_different_rates(corpus, run, monkeypatch):
    write(corpus / "high.wav", hiss(48000), 48000)
    picture = corpus / "pictures" / "both.png"
    result = run("plot", corpus / "high.wav", corpus / "clean" / "u0.wav", "-o", picture, "--titles", "noise, voice")
    assert result.exit_code == 0 and picture.read_bytes().startswith(b"\x89PNG")
    drawn = []
    monkeypatch.setattr("qse.evaluate.plot.plot_spectrograms", lambda signals, path: drawn.extend(signals))
    two = np.stack([hiss(1600), 0.5 * hiss(1600)], 1)
    write(corpus / "two.wav", two)
    run("plot", corpus / "two.wav", corpus / "high.wav", "-o", picture)
    assert [title for title, *_ in drawn] == ["two.wav, channel 1", "two.wav, channel 2", "high.wav"]
    np.testing.assert_allclose(drawn[1][1], two[:, 1], atol=1e-4)
    none = run("plot", corpus / "none.wav", "-o", picture)
    assert str(none.exception) == f"{corpus / 'none.wav'}: no such file"
    plot_spectrograms([("costs $5_0^", hiss(16000), 16000)], picture)  # no formula
    (corpus / "folder.png").mkdir()
    with pytest.raises(QseError, match=r"folder.png cannot be written: Is a directory"):
        plot_spectrograms([("noise", hiss(16000), 16000)], corpus / "folder.png")
    recording = corpus / "high.wav"
    before = recording.read_bytes()
    with pytest.raises(QseError, match=r"high.wav: a picture is a PNG; name one that ends in .png"):
        plot_spectrograms([("noise", hiss(16000), 16000)], recording)
    assert recording.read_bytes() == before


def test_evaluation_of_an_exported_model_needs_no_torch():
    code = "import sys, qse.evaluate.study, qse_cli.evaluate; sys.exit('torch' in sys.modules or 'pesq' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

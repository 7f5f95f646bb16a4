"""Runner: rows, failures of single utterances, interrupted runs, files that changed, lead-in,
sample rates."""

import os
import shutil

import numpy as np
import pytest
import soundfile
from evaluation_files import FAST, rows_of, write
from speech import voice

from qse.data import datasets
from qse.data.recordings import read_mono
from qse.errors import QseError
from qse.evaluate import runner, scoring
from qse.evaluate.computing_systems import find_system
from qse.evaluate.evaluation import evaluate
from qse.evaluate.metrics import METRICS, Metric, add_metric
from qse.evaluate.store import read_rows


def pairs_in(corpus):
    return datasets.pair_folders(corpus / "noisy", corpus / "clean")


def test_evaluate_rows_hold_the_metrics(corpus):
    rows = rows_of(corpus)
    clean, noisy = (read_mono(corpus / side / "u3.wav")[0] for side in ("clean", "noisy"))
    assert {name: rows[3][name] for name in FAST} == scoring.score_pair(
        clean=clean, enhanced=noisy, metrics=FAST
    )
    assert [row["name"] for row in rows] == ["u0", "u1", "u2", "u3", "u4"] and rows[0][
        "audio_s"
    ] == 1.0
    assert read_rows(corpus / "out" / "scores.csv") == rows


def test_evaluate_reports_bad_files_and_continues(corpus):
    (corpus / "noisy" / "u0.wav").write_bytes(b"no audio")
    write(corpus / "clean" / "u1.wav", voice(1.0)[:-600])
    write(corpus / "noisy" / "u2.wav", voice(1.0), 8000)
    (corpus / "clean" / "u3.wav").unlink()
    write(corpus / "noisy" / "u5.wav", voice(1.0))
    write(corpus / "clean" / "u5.wav", np.zeros((16000, 2)))
    write(corpus / "noisy" / "u6.wav", np.zeros(16000))
    write(corpus / "clean" / "u6.wav", voice(1.0))
    write(corpus / "noisy" / "u7.wav", voice(1.0))
    soundfile.write(corpus / "clean" / "u7.wav", np.append(voice(1.0)[:-1], np.nan), 16000, "FLOAT")
    errors = {row["name"]: row.get("error") for row in rows_of(corpus)}
    said = [
        "u0.wav",
        "clean has 15400 samples",
        "8000 Hz",
        "no clean file of this name",
        None,
        "2 channels",
        "silent",
        "u7.wav",
    ]
    assert list(errors) == [f"u{place}" for place in range(8)]
    for words, error in zip(said, errors.values(), strict=True):
        assert error is None if words is None else words in error


def test_evaluate_continues_after_interruption(corpus):
    def interrupt(done, _):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rows_of(corpus, progress=interrupt)
    table = corpus / "out" / "scores.csv"
    lines = table.read_text().splitlines()
    cells = lines[1].split(",")
    cells[3] = (
        "0.125"  # a value that scoring would never give: it stays only if the row is not done again
    )
    # the last row half written
    table.write_text("\n".join([lines[0], ",".join(cells), lines[2], lines[3][:9]]))
    counts = []
    rows = rows_of(corpus, progress=lambda done, total: counts.append((done, total)))
    assert counts == [(3, 5), (4, 5), (5, 5)]
    assert rows[0]["stoi"] == 0.125 and rows[2]["stoi"] > 0.5 and len(rows) == 5


def test_evaluate_never_mixes_two_evaluations(corpus):
    (corpus / "noisy" / "u0.wav").rename(corpus / "u0.wav")
    assert "error" in rows_of(corpus)[0]
    with pytest.raises(QseError, match=r"something else \(metrics differ\)"):
        rows_of(corpus, metrics=("si_sdr",))
    (corpus / "u0.wav").rename(corpus / "noisy" / "u0.wav")
    assert not any("error" in row for row in rows_of(corpus))  # the failed one is tried again
    (corpus / "out" / "summary.json").write_text("{}")
    with pytest.raises(QseError, match=r"something else \(timing differ\)"):
        rows_of(corpus, timing="strict")


def test_evaluate_repeats_changed_files_and_models(corpus, models, tmp_path):
    def done_again(system):
        counts = []
        rows_of(corpus, system, progress=lambda done, total: counts.append(done))
        return len(counts)

    for place in range(5):
        shutil.copy(
            corpus / "noisy" / f"u{place}.wav",
            write(corpus / "better" / f"u{place}.wav", np.zeros(10)),
        )
    folder = find_system(str(corpus / "better"))
    graph = tmp_path / "model.onnx"
    assert [done_again(folder), done_again(folder)] == [5, 0]
    shutil.copy(corpus / "clean" / "u1.wav", corpus / "better" / "u1.wav")
    assert done_again(folder) == 1
    os.utime(corpus / "noisy" / "u2.wav", ns=(0, 0))
    assert done_again(folder) == 1
    changed = corpus / "noisy" / "u2.wav"
    changed.write_bytes(changed.read_bytes()[:-100] + bytes(100))
    os.utime(changed, ns=(0, 0))  # which keeps its time
    assert done_again(folder) == (0 if os.name == "nt" else 1)
    shutil.rmtree(corpus / "out")
    for name in ("live-base", "recurrent"):
        graph.write_bytes((models / name / "model.onnx").read_bytes())
        assert done_again(find_system(str(graph))) == 5


def test_evaluate_scores_model_and_noisy_signal(corpus, models):
    rows = rows_of(corpus, find_system("live-base"))  # a pure delay, so enhanced equals noisy
    for row in rows:
        assert row["stoi"] == pytest.approx(row["noisy_stoi"], abs=1e-5) and row["process_s"] > 0
    with pytest.raises(QseError, match="no model called live-bass"):
        find_system("live-bass")


def test_evaluate_scores_a_folder_of_files(corpus):
    for place in range(4):
        write(
            corpus / "better" / f"u{place}.flac",
            read_mono(corpus / "clean" / f"u{place}.wav")[0],
        )
    rows = rows_of(corpus, find_system(str(corpus / "better")))
    assert all(row["si_sdr"] > 60 > row["noisy_si_sdr"] for row in rows[:4])
    assert "has no file called u4" in rows[4]["error"]


def test_evaluate_converts_48_khz_files_to_16_khz(corpus):
    import soxr

    for side in ("clean", "noisy"):
        audio = read_mono(corpus / side / "u2.wav")[0]
        write(corpus / "high" / side / "u2.wav", soxr.resample(audio, 16000, 48000), 48000)
    (row,) = rows_of(corpus / "high")
    assert (
        row["stoi"] == pytest.approx(rows_of(corpus)[2]["stoi"], abs=2e-3) and row["audio_s"] == 1.0
    )


def test_evaluate_opens_an_exchanged_model_again(corpus, models, tmp_path):
    pairs = datasets.pair_folders(corpus / "noisy", corpus / "clean")[:1]
    graph = tmp_path / "model.onnx"
    found = []
    for name in ("live-base", "recurrent", "live-base"):
        graph.write_bytes((models / name / "model.onnx").read_bytes())
        found += evaluate(str(graph), pairs, metrics="si_sdr").rows
    first, other, again = (row["si_sdr"] for row in found)
    assert first == again != other


def fragile(*, clean, enhanced, sample_rate):
    """Fail where the recording is the third."""
    if abs(np.abs(clean).max() - np.abs(voice(1.0, pitch=140, start=3)).max()) < 1e-3:
        raise ValueError("no score")
    return 1.0


@pytest.fixture
def own_metric():
    add_metric("fragile", Metric("fragile", fragile))
    yield
    del METRICS["fragile"]


def test_a_metric_that_fails_leaves_the_others(corpus, own_metric):
    found = evaluate("noisy", pairs_in(corpus), metrics="fragile,stoi")
    assert found.failed == {"u2": "fragile: no score"}
    assert found.findings["utterances"] == 5 and found.findings["enhanced"]["fragile"]["n"] == 4
    text = " ".join(found.text().split())
    assert "1 without some scores" in text and "| fragile, n=4 |" in text
    assert [row["stoi"] for row in found.rows] == [
        row["stoi"] for row in evaluate("noisy", pairs_in(corpus), metrics="stoi").rows
    ]


def test_an_utterance_that_ends_its_process_is_scored_without_pesq(corpus, monkeypatch):
    """See test_pool.py for processes that end."""

    def ending(function, tasks, jobs, crashed):
        if "pesq_nb" in function.metrics:
            return map(crashed, tasks)
        return map(function, tasks)

    monkeypatch.setattr(runner, "spread", ending)
    found = evaluate("noisy", pairs_in(corpus), metrics="pesq_nb,si_sdr", jobs=2)
    assert len(found.failed) == 5 and "the scoring process died" in found.failed["u2"]
    assert all("si_sdr" in row for row in found.rows)


def test_pesq_is_not_blamed_where_it_was_not_asked_for():
    assert "PESQ" in runner.crash_of(["stoi", "csig"])
    assert runner.crash_of(["stoi"]) == "the scoring process died: is there enough memory?"


def test_a_finished_evaluation_is_not_computed_again(corpus, models, monkeypatch):
    """Neither the model nor a recording is read; the table is the saved one."""
    first = evaluate("live-base", pairs_in(corpus), corpus / "out", metrics="si_sdr")
    text = first.write()
    with monkeypatch.context() as patch:
        patch.setattr("qse.load", lambda *arguments, **options: 1 / 0)
        patch.setattr("qse.evaluate.report.interval", lambda values: 1 / 0)
        again = evaluate("live-base", pairs_in(corpus), corpus / "out", metrics="si_sdr")
    assert again.saved and not first.saved
    assert again.text() == text and again.rows == first.rows

    write(corpus / "noisy" / "u3.wav", voice(1.0))
    changed = evaluate("live-base", pairs_in(corpus), corpus / "out", metrics="si_sdr")
    assert not changed.saved and changed.rows[:3] == first.rows[:3]
    assert changed.rows[3] != first.rows[3]

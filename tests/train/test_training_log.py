"""The CSV files and curves of a run."""

import os
from types import SimpleNamespace

import pytest
from small_training import PLAN, lines

from qse.errors import QseError
from qse.train.training_log import MetricsLog, TrainingLog


def test_training_log_takes_means_over_the_steps_that_have_a_term(tmp_path):
    """Also after a checkpoint in between; steps at 16 kHz have no upper band."""
    trainer = SimpleNamespace(rank=0, done=0, heard=0, seconds=0.0, passed=0.0, config=PLAN)
    log = TrainingLog(tmp_path, trainer, 16000)
    log.step({"loss": 1.0, "high_band": 0.5}, skipped=False)
    log.step({"loss": 3.0}, skipped=False)
    log.step({"loss": 100.0}, skipped=True)
    resumed = TrainingLog(tmp_path, trainer, 16000)
    resumed.restore(log.header())
    resumed.step({"loss": 5.0, "high_band": 0.25}, skipped=False)
    resumed.write()
    (row,) = lines(tmp_path / "train.csv")
    assert (row["loss"], row["high_band"], row["skipped"]) == ("3", "0.375", "1")


def test_training_log_takes_means_over_all_processes(tmp_path, monkeypatch):
    """Also over those before a resume, whatever the number of processes is then."""
    logs = []
    for rank in (0, 1):
        run = SimpleNamespace(rank=rank, done=0, heard=0, seconds=0.0, passed=0.0, config=PLAN)
        logs.append(TrainingLog(tmp_path, run, 16000))
    for log, loss in zip(logs, (1.0, 5.0), strict=True):
        log.step({"loss": loss}, skipped=False)
        log.step({"loss": 100.0}, skipped=True)
    exchanges = []

    def gather(items: list) -> list:
        exchanges.append(items)
        return [*items, (logs[1].sums, logs[1].counts)]

    with monkeypatch.context() as patch:
        patch.setattr("qse.train.training_log.gather", gather)
        header = logs[0].header()
    assert len(exchanges) == 1
    alone = TrainingLog(tmp_path, logs[0].trainer, 16000)
    alone.restore(header)
    alone.step({"loss": 9.0}, skipped=False)
    alone.write()
    (row,) = lines(tmp_path / "train.csv")
    assert (row["loss"], row["skipped"]) == ("5", "1")
    logs[1].restore(header)
    assert logs[1].sums == {"loss": 5.0}  # those of all are with the first process


def test_metrics_log_rewind_keeps_other_tables(tmp_path):
    log = MetricsLog(tmp_path)
    for step in (1, 2):
        log.add("train", {"step": step})
    (tmp_path / "scores.csv").write_text("name,pesq_wb\np1,2.0\n")
    log.rewind(1)
    assert len(lines(tmp_path / "train.csv")) == 1 and "p1" in (tmp_path / "scores.csv").read_text()


def test_metrics_log_adds_rows_and_columns(tmp_path):
    log = MetricsLog(tmp_path)
    log.add("train", {"step": 1234567, "loss": 0.123456789})
    log.add("train", {"step": 1234568, "loss": 1e-12, "pesq": float("nan")})
    assert lines(tmp_path / "train.csv") == [
        {"step": "1234567", "loss": "0.123457", "pesq": "nan"},
        {"step": "1234568", "loss": "1e-12", "pesq": "nan"},
    ]


def test_metrics_log_rewind_removes_later_rows(tmp_path):
    log = MetricsLog(tmp_path)
    for step in (10, 20, 30):
        log.add("train", {"step": step, "loss": step / 7})
    log.add("valid", {"step": 30, "pesq_wb": 2.5})
    before = (tmp_path / "train.csv").read_text().splitlines()
    log.rewind(20)
    assert (tmp_path / "train.csv").read_text().splitlines() == before[:3]
    assert os.listdir(tmp_path) == ["train.csv"]


def test_metrics_log_draws_a_png(tmp_path):
    log = MetricsLog(tmp_path)
    log.add("train", {"step": 1, "loss": 2.0})
    log.add("valid", {"step": 1, "audio_hours": 0.1, "pesq_wb": float("nan"), "stoi": 0.5})
    log.draw()
    log.add(
        "valid",
        {"step": 2, "audio_hours": 0.2, "pesq_wb": 1.5, "stoi": 0.6, "unknown_pesq_wb": 1.4},
    )
    log.draw()
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("text", ["step,loss\n1,\n", "step\n1,2\n", "loss\n1\n", "step\n\ud800\n"])
def test_metrics_log_names_a_damaged_table(tmp_path, text):
    (tmp_path / "train.csv").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(QseError, match=r"train\.csv is damaged"):
        MetricsLog(tmp_path).rewind(1)


def test_metrics_log_writes_events_of_tensorboard(tmp_path):
    """A run that resumes from step 1 hides what came after it."""
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    first = MetricsLog(tmp_path, tensorboard=True)
    for step in (1, 2):
        first.add("train", {"step": step, "loss": 0.5 * step})
    first.close()
    resumed = MetricsLog(tmp_path, tensorboard=True)
    resumed.rewind(1)
    resumed.add("train", {"step": 2, "loss": 7.0})
    resumed.close()
    events = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    found = [(event.step, event.value) for event in events.Scalars("train/loss")]
    assert found == [(1, 0.5), (2, 7.0)]

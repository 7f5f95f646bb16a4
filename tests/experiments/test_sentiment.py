"""Sentiment experiment: training on files of their formats, optimiser, schedule."""

import csv

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib")

from qse.experiments import experiment
from qse.experiments.schedule import warmup_cosine


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_sentiment_trains_every_arm(sst2, tmp_path, monkeypatch):
    """AdamW, a warm-up and a cosine (appendix E.2); one accuracy per epoch and seed; latency in the summary."""
    rates, step = [], torch.optim.AdamW.step
    monkeypatch.setattr(torch.optim.AdamW, "step", lambda self: rates.append(self.param_groups[0]["lr"]) or step(self))
    changes = [f"train={sst2}", f"valid={sst2}", "dim=16", "feed=16", "heads=2", "layers=1", "epochs=6", "batch=8",
               "learning_rate=0.02", "warmup=0.1", "latency_seconds=0.01"]  # fmt: skip
    experiment("sentiment", tmp_path, changes)
    rows = rows_of(tmp_path / "sentiment.csv")
    assert [row["arm"] for row in rows[::6]] == ["real", "partial", "full", "shared", "phm"]
    assert all(float(row["accuracy"]) == 1 for row in rows if row["epoch"] == "6")
    assert rates[:3] == pytest.approx([0.01, 0.02, 0.02]) and rates[17] < 0.001 < rates[10]
    table = (tmp_path / "sentiment.md").read_text()
    assert "| arm | parameters | accuracy % | latency ms / batch |" in table and "| shared |" in table


def test_sentiment_reports_the_spread_over_seeds(sst2, tmp_path):
    changes = [f"train={sst2}", f"valid={sst2}", "dim=8", "feed=8", "heads=2", "layers=1", "epochs=1", "batch=24",
               "latency_seconds=0.01", 'arms=["shared"]', "seeds=[0, 1, 2]"]  # fmt: skip
    line = experiment("sentiment", tmp_path, changes)
    accuracies = [100 * float(row["accuracy"]) for row in rows_of(tmp_path / "sentiment.csv")]
    mean, spread = sum(accuracies) / 3, torch.tensor(accuracies).std().item()
    assert line.startswith(f"shared {mean:.2f} ± {spread:.2f} %")


def test_warmup_cosine_reaches_zero():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], 1.0)
    schedule, rates = warmup_cosine(optimizer, 4, 12), []
    for _ in range(13):
        rates.append(schedule.get_last_lr()[0])
        optimizer.step()
        schedule.step()
    assert rates[:5] == [0.25, 0.5, 0.75, 1.0, 1.0] and rates[8] == pytest.approx(0.5) and rates[12] == 0

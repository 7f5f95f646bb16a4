"""Sentiment experiment: training on files of their formats, optimiser, schedule."""

import json
import re

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib")

from qse_papers import experiment
from qse_papers.sentiment import Sentiment
from result_tables import column, numbers, rows_of
from tensors import count

from qse.errors import QseError

SMALL = ["dim=16", "feed=16", "heads=2", "layers=1", "batch=8", "latency_seconds=0.01", "seeds=[0]"]


def test_sentiment_trains_every_arm(sst2, tmp_path, monkeypatch):
    """AdamW, a warm-up and a cosine (appendix E.2); Table 15 beside the paper's values."""
    rates = []
    step = torch.optim.AdamW.step
    monkeypatch.setattr(
        torch.optim.AdamW,
        "step",
        lambda self: rates.append(self.param_groups[0]["lr"]) or step(self),
    )
    arms = ["shared", "full", "real", "partial", "phm"]
    changes = [*SMALL, f"train={sst2}", f"valid={sst2}", "epochs=6", "learning_rate=0.02"]
    changes += ["warmup=0.1", f"arms={json.dumps(arms)}"]
    line = experiment("sentiment", tmp_path, changes)
    rows = rows_of(tmp_path / "sentiment-curves.csv")
    assert column(rows[::6], "arm") == arms
    assert numbers(rows, "accuracy %", epoch="6") == [100] * 5
    assert rates[:3] == pytest.approx([0.01, 0.02, 0.02]) and rates[17] < 0.001 < rates[10]
    table = rows_of(tmp_path / "sentiment.csv")
    paper = column(table, "paper accuracy %")
    assert paper == ["81.04 ± 0.30", "81.12 ± 0.70", "", "", ""]
    assert int(table[0]["parameters"]) == int(table[1]["parameters"]) < int(table[2]["parameters"])
    latency = numbers(table, "latency ms / batch")
    ratio = re.search(r"latency shared / Hamilton (\S+) \(paper 0.73\)", line)
    assert float(ratio[1]) == pytest.approx(latency[0] / latency[1], abs=0.1)
    assert (tmp_path / "sentiment.png").stat().st_size > 5000


def test_sentiment_reports_the_spread_over_seeds(sst2, tmp_path, monkeypatch):
    changes = [*SMALL, f"train={sst2}", f"valid={sst2}", "batch=24", 'arms=["shared"]']
    experiment("sentiment", tmp_path, [*changes, "seeds=[0, 1]"])
    # trains the third alone
    line = experiment("sentiment", tmp_path, [*changes, "seeds=[0, 1, 2]"])
    accuracies = numbers(rows_of(tmp_path / "sentiment-curves.csv"), "accuracy %")
    mean = sum(accuracies) / 3
    spread = torch.tensor(accuracies).std().item()
    assert line.startswith(f"shared {mean:.2f} ± {spread:.2f} %") and "latency" not in line
    monkeypatch.setattr("qse_papers.sentiment.train_classifier", None)
    assert experiment("sentiment", tmp_path, [*changes, "seeds=[0, 1, 2]"]) == line
    (tmp_path / "sentiment-shared-0.safetensors").unlink()
    with pytest.raises(QseError, match=r"sentiment-runs\.json to train again"):
        experiment("sentiment", tmp_path, [*changes, "seeds=[0, 1, 2]"])


def test_sentiment_has_the_parameters_of_the_paper():
    """About 100,000 (appendix E.2).

    Per layer four maps of dim^2, two of dim x feed, a quarter each, biases, norms.
    """
    for arm in ("full", "shared"):
        layers = Sentiment().network(arm, 8000).layers
        expected = 2 * ((4 * 128**2 + 2 * 128 * 512) // 4 + 4 * 128 + 512 + 128 + 4 * 128)
        assert count(layers) == expected == 101632

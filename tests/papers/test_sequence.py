"""Sequence-to-sequence experiment: the loss falls, a small text is learned by heart."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib")

from qse_papers import experiment
from result_tables import column, numbers, rows_of


def test_sequence_learns_a_small_text(tmp_path):
    lines = ["you are here now", "do you see me there", "he has gone away", "where are you going"]
    for part in ("train", "test"):
        (tmp_path / f"{part}.modern").write_text("\n".join(lines) + "\n")
        (tmp_path / f"{part}.original").write_text("\n".join(line[::-1] for line in lines) + "\n")
    changes = [f"data={tmp_path}", "dim=32", "feed=32", "heads=2", "layers=1", "steps=80"]
    changes += ["warmup=5", "batch=8", "dropout=0", "learning_rate=0.01", 'arms=["phm-4"]']
    line = experiment("sequence", tmp_path / "out", changes)
    assert float(rows_of(tmp_path / "out" / "sequence.csv")[0]["BLEU"]) > 95, line
    assert "/" not in (tmp_path / "out" / "sequence.md").read_text()  # no path of this machine


def test_sequence_lowers_the_loss_on_arithmetic(tmp_path):
    changes = ["digits=1", "dim=32", "feed=32", "heads=2", "layers=1", "steps=30", "warmup=5"]
    changes += ["batch=16", "test=10", "learning_rate=0.005", 'arms=["phm-1", "phm-8", "partial"]']
    experiment("sequence", tmp_path, changes)
    curves = rows_of(tmp_path / "sequence-curves.csv")
    arms = list(dict.fromkeys(column(curves, "arm")))
    assert arms == ["phm-1", "phm-8", "partial"]
    for arm in arms:
        losses = numbers(curves, "loss", arm=arm)
        assert losses[-1] < 0.9 * losses[0]
    table = (tmp_path / "sequence.md").read_text()
    assert (
        "| network | parameters | exact match % | paper, exact match % |" in table
        and "84.4" in table
    )

"""Entailment experiment: every arm learns pairs of SNLI's format."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib")

from qse.experiments import experiment


def test_pairs_trains_every_arm(snli, tmp_path, rows_of):
    changes = [f"train={snli}", f"valid={snli}", "channels=4", "embedding=20", "epochs=25", "batch=8",
               "learning_rate=0.02"]  # fmt: skip
    experiment("pairs", tmp_path, changes)
    rows = {row["network"]: row for row in rows_of(tmp_path / "pairs.csv")}
    assert len(rows) == 8 and all(float(row["accuracy %"]) == 100 for row in rows.values())
    assert int(rows["lstm"]["parameters"]) == 4 * (2 * 20 * 20 + 20)
    assert rows["phm-lstm-10"]["paper: parameters"] == "81K"

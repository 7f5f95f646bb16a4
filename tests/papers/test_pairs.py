"""Entailment experiment: every arm learns pairs of SNLI's format."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib")

from qse_papers import experiment
from result_tables import numbers, rows_by


def test_pairs_trains_every_arm(snli, tmp_path):
    changes = [f"train={snli}", f"valid={snli}", "channels=4", "embedding=20", "epochs=25"]
    changes += ["batch=8", "learning_rate=0.02"]
    experiment("pairs", tmp_path, changes)
    rows = rows_by(tmp_path / "pairs.csv", "network")
    assert numbers(list(rows.values()), "accuracy %") == [100] * 8
    assert int(rows["lstm"]["parameters"]) == 4 * (2 * 20 * 20 + 20)
    assert rows["phm-lstm-10"]["paper: parameters"] == "81K"

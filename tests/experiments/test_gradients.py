"""Gradients of attention scores: Theorem C.3 and the tables of the experiment."""

import csv

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib")

from qse.errors import QseError
from qse.experiments import experiment
from qse.experiments.attention_gradients import (
    LOSSES,
    component_score_gradients,
    shared_score_gradients,
)

FORMS = {"shared": shared_score_gradients, "hamilton": component_score_gradients}


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def qkv() -> torch.Tensor:
    return torch.randn(3, 2, 2, 7, 4, 3, dtype=torch.float64)


@pytest.mark.parametrize("loss", ["mean_square", "sum"])
@pytest.mark.parametrize("form", FORMS)
def test_score_gradients_equal_theorem_c3(form, loss):
    assert FORMS[form](*qkv(), LOSSES[loss]).deviation < 1e-12


def test_component_score_gradients_are_separated():
    """A loss of component 2 reaches the score of component 2 alone, and the shared score in any case (Eqs. 66, 67)."""
    signals = qkv()
    found = component_score_gradients(*signals, lambda y: y[..., 2, :].square().sum()).gradient
    assert [bool(part.any()) for part in found.unbind(2)] == [False, False, True, False]
    assert shared_score_gradients(*signals, lambda y: y[..., 2, :].square().sum()).gradient.any()


def test_shared_score_gradients_add_up_over_components():
    signals = qkv()
    parts = [
        shared_score_gradients(*signals, lambda y, a=a: y[..., a, :].square().sum()).gradient
        for a in range(4)
    ]
    together = shared_score_gradients(*signals, lambda y: y.square().sum()).gradient
    torch.testing.assert_close(together, sum(parts))


def test_score_gradients_follow_the_scale():
    """A scale of the scores equals a scale of q, whose gradient it is not."""
    q, k, v = qkv()
    for form in FORMS.values():
        scaled, plain = form(q, k, v, LOSSES["sum"], 3.0), form(3 * q, k, v, LOSSES["sum"])
        torch.testing.assert_close(scaled.gradient, plain.gradient)


def test_gradients_experiment_writes_norms_and_correlations(tmp_path):
    """Contributions of the components are orthogonal: a ratio of 0.5, not the 0.88 of the paper's Table 7."""
    changes = ["loss=sum", "trials=30", "tokens=32", "batch=2", "score_scales=[1.0, 1000.0]"]
    line = experiment("gradients", tmp_path, changes)
    rows = rows_of(tmp_path / "gradients-norms.csv")
    assert [row["weights"] for row in rows] == [
        "random, seed 0",
        "fixed, seed 0",
    ] and "shared / sum 0.5" in line
    assert all(float(row["shared / sum"]) == pytest.approx(0.5, abs=0.03) for row in rows)
    trials = rows_of(tmp_path / "gradients-trials.csv")
    assert len(trials) == 60 and all(float(row["deviation"]) < 1e-4 for row in trials)
    pairs = rows_of(tmp_path / "gradients-correlations.csv")
    shuffled = [float(row["r"]) for row in pairs if row["weights"] == "shuffled, seed 0"]
    assert len(shuffled) == 6 and max(map(abs, shuffled)) < 0.6
    assert len(pairs) == 18 and float(pairs[0]["chance"]) == pytest.approx(0.36, abs=0.01)
    ratios = {(row["loss"], row["score scale"]): float(row["shared / sum"])
              for row in rows_of(tmp_path / "gradients-ratios.csv")}  # fmt: skip
    assert len(ratios) == 8 and ratios["sum", "1"] == pytest.approx(0.5, abs=0.05)
    assert ratios["sum, equal components of V", "1"] == pytest.approx(1, abs=0.05)
    assert ratios["mean_square", "1000"] > ratios["sum", "1000"]
    table = (tmp_path / "gradients.md").read_text()
    assert "| paper (Table 7) | 1.72e-3 ± 2e-5 |" in table and "| 0.826 | 0.317 | 0.879 |" in table
    assert all(
        (tmp_path / name).stat().st_size > 1000
        for name in ("gradients.png", "gradients-ratios.png")
    )


def test_gradients_experiment_continues(tmp_path, monkeypatch):
    small = ["trials=4", "tokens=8", "batch=1", "score_scales=[1.0]"]
    experiment("gradients", tmp_path, [*small, 'arms=["random"]'])
    before = rows_of(tmp_path / "gradients-trials.csv")
    experiment("gradients", tmp_path, small)
    after = rows_of(tmp_path / "gradients-trials.csv")
    assert len(after) == 8 and [row for row in after if row["arm"] == "random"] == before


def test_gradients_experiment_reads_a_trained_network(small_run, tmp_path):
    small = ["trials=4", "tokens=8", "batch=1", "channels=8", "heads=2", "score_scales=[1.0]"]
    experiment(
        "gradients", tmp_path / "out", [*small, f"model={small_run('qtransformer-hamilton')}"]
    )
    names = [row["weights"] for row in rows_of(tmp_path / "out" / "gradients-norms.csv")]
    assert names[2:] == ["trained, time 0, seed 0", "trained, frequency 0, seed 0"]
    trials = [
        row
        for row in rows_of(tmp_path / "out" / "gradients-trials.csv")
        if row["arm"].startswith("trained")
    ]
    known = np.corrcoef([[float(row[key]) for row in trials] for key in ("S0", "S1")])[0, 1]
    pairs = rows_of(tmp_path / "out" / "gradients-correlations.csv")
    pooled = next(
        row for row in pairs if (row["weights"], row["pair"]) == ("trained, pooled, seed 0", "0-1")
    )
    assert len(trials) == 8 and float(pooled["r"]) == pytest.approx(known, abs=1e-4)
    with pytest.raises(QseError, match="no Hamilton attention"):
        experiment("gradients", tmp_path / "out", [*small, f"model={small_run('qtransformer')}"])


def test_gradients_experiment_refuses_settings(tmp_path):
    with pytest.raises(QseError, match="loss 'mse': choose one of mean_square"):
        experiment("gradients", tmp_path, ["loss=mse"])
    with pytest.raises(QseError, match="choose among random, fixed"):
        experiment("gradients", tmp_path, ['arms=["new"]'])

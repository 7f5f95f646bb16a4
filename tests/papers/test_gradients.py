"""Gradients of attention scores: Theorem C.3 and the tables of the experiment."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib")

from qse_papers import experiment
from qse_papers.attention_gradients import (
    LOSSES,
    component_score_gradients,
    shared_score_gradients,
)
from qse_papers.results import rows_with
from result_tables import column, numbers, rows_of

from qse.errors import QseError

FORMS = {"shared": shared_score_gradients, "hamilton": component_score_gradients}


def qkv() -> torch.Tensor:
    return torch.randn(3, 2, 2, 7, 4, 3, dtype=torch.float64)


@pytest.mark.parametrize("loss", ["mean_square", "sum"])
@pytest.mark.parametrize("form", FORMS)
def test_score_gradients_equal_theorem_c3(form, loss):
    assert FORMS[form](*qkv(), LOSSES[loss]).deviation < 1e-12


def test_component_score_gradients_are_separated():
    """A loss of component 2 reaches its score alone, and the shared score (Eqs. 66, 67)."""
    signals = qkv()
    found = component_score_gradients(*signals, lambda y: y[..., 2, :].square().sum()).gradient
    assert found.flatten(3).any(3).any(1).any(0).tolist() == [False, False, True, False]
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
        scaled = form(q, k, v, LOSSES["sum"], 3.0)
        plain = form(3 * q, k, v, LOSSES["sum"])
        torch.testing.assert_close(scaled.gradient, plain.gradient)


def test_gradients_experiment_writes_norms_and_correlations(tmp_path):
    """Contributions of the components are orthogonal: 0.5, not the 0.88 of the paper's Table 7."""
    changes = ["loss=sum", "trials=30", "tokens=32", "batch=2", "score_scales=[1.0, 1000.0]"]
    line = experiment("gradients", tmp_path, changes)
    rows = rows_of(tmp_path / "gradients-norms.csv")
    assert column(rows, "weights") == ["random, seed 0", "fixed, seed 0"]
    assert "shared / sum 0.5" in line
    assert numbers(rows, "shared / sum") == pytest.approx([0.5, 0.5], abs=0.03)
    trials = rows_of(tmp_path / "gradients-trials.csv")
    assert len(trials) == 60 and max(numbers(trials, "deviation")) < 1e-4
    pairs = rows_of(tmp_path / "gradients-correlations.csv")
    shuffled = numbers(pairs, "r", weights="shuffled, seed 0")
    assert len(shuffled) == 6 and max(map(abs, shuffled)) < 0.6
    assert len(pairs) == 18 and float(pairs[0]["chance"]) == pytest.approx(0.36, abs=0.01)
    ratios = rows_of(tmp_path / "gradients-ratios.csv")

    def ratio(loss, scale):
        (found,) = numbers(ratios, "shared / sum", **{"loss": loss, "score scale": scale})
        return found

    assert len(ratios) == 8 and ratio("sum", "1") == pytest.approx(0.5, abs=0.05)
    assert ratio("sum, equal components of V", "1") == pytest.approx(1, abs=0.05)
    assert ratio("mean_square", "1000") > ratio("sum", "1000")
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
    assert len(after) == 8 and rows_with(after, arm="random") == before


def test_gradients_experiment_reads_a_trained_network(small_run, tmp_path):
    small = ["trials=4", "tokens=8", "batch=1", "channels=8", "heads=2", "score_scales=[1.0]"]
    experiment(
        "gradients", tmp_path / "out", [*small, f"model={small_run('qtransformer-hamilton')}"]
    )
    names = column(rows_of(tmp_path / "out" / "gradients-norms.csv"), "weights")
    assert names[2:] == ["trained, time 0, seed 0", "trained, frequency 0, seed 0"]
    trials = rows_of(tmp_path / "out" / "gradients-trials.csv")[-8:]  # two layers, four trials
    known = np.corrcoef(numbers(trials, "S0"), numbers(trials, "S1"))[0, 1]
    pairs = rows_of(tmp_path / "out" / "gradients-correlations.csv")
    (pooled,) = numbers(pairs, "r", weights="trained, pooled, seed 0", pair="0-1")
    assert trials[0]["arm"] == "trained, time 0" and pooled == pytest.approx(known, abs=1e-4)
    with pytest.raises(QseError, match="no Hamilton attention"):
        experiment("gradients", tmp_path / "out", [*small, f"model={small_run('qtransformer')}"])


def test_gradients_experiment_refuses_settings(tmp_path):
    with pytest.raises(QseError, match="loss 'mse': choose one of mean_square"):
        experiment("gradients", tmp_path, ["loss=mse"])
    with pytest.raises(QseError, match="choose among random, fixed"):
        experiment("gradients", tmp_path, ['arms=["new"]'])

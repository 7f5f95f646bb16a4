"""Gradients of attention scores: Theorem C.3 and the tables of the experiment."""

import csv

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib")

from qse.errors import QseError
from qse.experiments import experiment
from qse.experiments.attention_gradients import LOSSES, component_score_gradients, shared_score_gradients

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
    parts = [shared_score_gradients(*signals, lambda y, a=a: y[..., a, :].square().sum()).gradient for a in range(4)]
    together = shared_score_gradients(*signals, lambda y: y.square().sum()).gradient
    torch.testing.assert_close(together, sum(parts))


def test_gradients_experiment_writes_norms_and_correlations(tmp_path):
    """Contributions of the components are orthogonal: a ratio of 0.5, not the 0.88 of the paper's Table 7."""
    line = experiment("gradients", tmp_path, ["loss=sum", "trials=30", "tokens=32", "batch=2"])
    rows = rows_of(tmp_path / "gradients-norms.csv")
    assert [row["weights"] for row in rows] == ["random", "fixed"] and "shared / sum 0.5" in line
    assert all(float(row["shared / sum"]) == pytest.approx(0.5, abs=0.03) for row in rows)
    assert all(float(row["closed form"]) < 1e-4 for row in rows)
    pairs = rows_of(tmp_path / "gradients-correlations.csv")
    shuffled = [float(row["r"]) for row in pairs if row["weights"] == "shuffled"]
    assert (
        len(pairs) == 18
        and max(map(abs, shuffled)) < 0.6
        and float(pairs[0]["chance"]) == pytest.approx(0.36, abs=0.01)
    )
    assert len(rows_of(tmp_path / "gradients-trials.csv")) == 60 and (tmp_path / "gradients.png").stat().st_size > 1000
    assert "| weights | 0-1 |" in (tmp_path / "gradients.md").read_text()


def test_gradients_experiment_reads_a_trained_network(tmp_path):
    from qse.networks import build_network
    from qse.train import checkpoint
    from qse.train.recipe import RunConfig, write_config

    for name in ("qtransformer-hamilton", "qtransformer"):
        config = RunConfig({"network": name, "n_fft": 32, "hop_length": 16, "channels": 4, "heads": 2, "layers": 1})
        network = build_network(config.model)
        (tmp_path / name).mkdir()
        write_config(tmp_path / name / "config.toml", config, network)
        weights = {f"average.{key}": value for key, value in network.state_dict().items()}
        checkpoint.save(tmp_path / name / "best.safetensors", weights, {})
    small = ["trials=4", "tokens=8", "batch=1", "channels=8", "heads=2"]
    experiment("gradients", tmp_path / "out", [*small, f"model={tmp_path / 'qtransformer-hamilton'}"])
    names = [row["weights"] for row in rows_of(tmp_path / "out" / "gradients-norms.csv")]
    assert names[:2] == ["random", "fixed"] and len(names) == 4 and all("attention" in name for name in names[2:])
    with pytest.raises(QseError, match="no Hamilton attention"):
        experiment("gradients", tmp_path / "out", [*small, f"model={tmp_path / 'qtransformer'}"])


def test_gradients_experiment_refuses_settings(tmp_path):
    with pytest.raises(QseError, match="loss 'mse': choose one of mean_square"):
        experiment("gradients", tmp_path, ["loss=mse"])

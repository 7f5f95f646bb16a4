"""Attention analysis: inputs of the layers, outputs by each formula, tables of the experiment."""

import csv

import pytest

torch = pytest.importorskip("torch")

from qse.errors import QseError
from qse.experiments import experiment
from qse.experiments.attention_analysis import attention_inputs, outputs_of
from qse.experiments.networks.text import TextClassifier, TextConfig


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("arm, formula", [("full", "hamilton"), ("shared", "shared")])
def test_outputs_of_equal_the_layers_own(arm, formula):
    network = TextClassifier(TextConfig(arm, dim=16, feed=16, heads=2, layers=2), 50, 2).eval()
    tokens = torch.randint(1, 50, (3, 6))
    tokens[0, 4:] = 0
    signals, seen = attention_inputs(network, tokens), tokens != 0
    own = [layer.attention.attend(*part, seen) for layer, part in zip(network.layers, signals, strict=True)]
    expected = torch.cat([y.permute(0, 2, 1, 3, 4)[seen].flatten() for y in own])
    torch.testing.assert_close(outputs_of(formula, signals, seen), expected)
    assert expected.numel() == 2 * 16 * 16  # layers, tokens that are no padding, dim


def test_outputs_of_uniform_attention_are_means_of_values():
    v = torch.randn(1, 2, 5, 4, 3)
    seen = torch.tensor([[True, True, True, False, False]])
    found = outputs_of("uniform", [(v, v, v)], seen)
    expected = v[:, :, :3].mean(2, keepdim=True).expand(1, 2, 3, 4, 3).permute(0, 2, 1, 3, 4).flatten()
    torch.testing.assert_close(found, expected)


def test_attention_analysis_writes_agreement_and_outputs(sst2, tmp_path):
    changes = [f"train={sst2}", f"valid={sst2}", "dim=16", "feed=16", "heads=2", "layers=1", "batch=8", "texts=6"]
    line = experiment("attention-analysis", tmp_path, changes)
    assert line.startswith("hamilton, seed 0: top-1 agreement")
    rates = rows_of(tmp_path / "attention-agreement.csv")
    assert {row["weights"] for row in rates} == {"hamilton, seed 0", "hamilton, seed 1", "hamilton, random weights"}
    assert len(rates) == 3 * 2 * 2 * 6  # networks, numbers of keys, heads, pairs
    outputs = {row["outputs"]: row for row in rows_of(tmp_path / "attention-outputs.csv")}
    assert len(outputs) == 6 + 4 * 3 and "q, k, v of hamilton, seed 0: shared / uniform" in outputs
    assert all(-1 <= float(row["correlation"]) <= 1 and 0 <= float(row["KS"]) <= 1 for row in outputs.values())
    table = (tmp_path / "attention-analysis.md").read_text()
    assert "| weights | top | 0-1 |" in table and "| outputs | KS | Wasserstein |" in table


def test_attention_analysis_refuses_settings(tmp_path):
    with pytest.raises(QseError, match="the comparison needs two"):
        experiment("attention-analysis", tmp_path, ["seeds=[0]"])
    with pytest.raises(QseError, match="needs text"):
        experiment("attention-analysis", tmp_path)

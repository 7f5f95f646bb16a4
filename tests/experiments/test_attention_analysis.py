"""Attention analysis: tables, pictures and controls of the experiment, on text and on speech."""

import csv

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib")

import soundfile

from qse.errors import QseError
from qse.experiments import experiment
from qse.experiments.agreement_tables import by_head, by_top

PICTURES = ("attention-agreement.png", "attention-maps.png", "attention-outputs.png")


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def noisy(tmp_path):
    """A folder with two recordings of noise."""
    folder = tmp_path / "noisy"
    folder.mkdir()
    for n in range(2):
        soundfile.write(
            folder / f"{n}.wav", 0.1 * np.random.default_rng(n).standard_normal(1600), 16000
        )
    return folder


def test_attention_analysis_of_text(sst2, tmp_path, monkeypatch):
    changes = [
        f"train={sst2}",
        f"valid={sst2}",
        "dim=16",
        "feed=16",
        "heads=2",
        "layers=1",
        "batch=8",
        "texts=6",
    ]
    line = experiment("attention-analysis", tmp_path, changes)
    assert line.startswith("hamilton, seed 0: top-1 agreement")
    rates = rows_of(tmp_path / "attention-agreement.csv")
    networks = {
        "hamilton, seed 0",
        "hamilton, seed 1",
        "hamilton, random weights",
        "uniform attention",
    }
    assert {row["weights"] for row in rates} == networks
    assert len(rates) == 4 * 2 * 2 * 6  # networks, numbers of keys, heads, pairs
    outputs = {row["outputs"]: row for row in rows_of(tmp_path / "attention-outputs.csv")}
    assert len(outputs) == 8 + 6 * 3 and "q, k, v of hamilton, seed 0: shared / uniform" in outputs
    assert next(iter(outputs)) == "shared, seed 0 / hamilton, seed 1"
    assert outputs["shared, seed 0 / hamilton, seed 1"]["paper"].startswith("KS 0.0407")
    assert all(
        -1 <= float(row["correlation"]) <= 1 and 0 <= float(row["KS"]) <= 1
        for row in outputs.values()
    )
    table = (tmp_path / "attention-analysis.md").read_text()
    assert "| paper, speech | 1 | 3.83 | 0.63 | 6.07 |" in table and "| layer 0 | 1 |" in table
    assert all((tmp_path / name).stat().st_size > 5000 for name in PICTURES)

    monkeypatch.setattr(
        "qse.experiments.sentiment.train_classifier", None
    )  # a second run trains nothing
    assert experiment("attention-analysis", tmp_path, changes) == line


def test_attention_analysis_of_speech(small_run, noisy, tmp_path):
    runs = [str(small_run("qtransformer-hamilton", seed)) for seed in (0, 1)] + [
        str(small_run("qtransformer"))
    ]
    changes = [f"models={runs}".replace("'", '"'), f"audio={noisy}", "seconds=0.05"]
    experiment("attention-analysis", tmp_path, changes)
    rates = rows_of(tmp_path / "attention-agreement.csv")
    assert {row["layer"] for row in rates} == {"time 0", "frequency 0"}
    assert (
        len(rates) == 4 * 2 * 2 * 2 * 6
    )  # two runs and two controls, layers, numbers of keys, heads, pairs
    chance = {(row["layer"], row["top"]): float(row["chance"]) for row in rates}
    assert chance["frequency 0", "1"] == pytest.approx(1 / 9) and chance[
        "time 0", "5"
    ] == pytest.approx(5 / 51)
    outputs = rows_of(tmp_path / "attention-outputs.csv")
    papers = {row["outputs"].split(": ")[0]: row["paper"] for row in outputs if row["paper"]}
    assert "correlation 0.028" in next(iter(papers.values()))
    assert {"correlation 0.78", "correlation 0.88"} <= set(papers.values())
    assert all((tmp_path / name).stat().st_size > 5000 for name in PICTURES)


def test_attention_analysis_refuses_settings(small_run, noisy, tmp_path):
    with pytest.raises(QseError, match="the comparison needs two"):
        experiment("attention-analysis", tmp_path, ["seeds=[0]"])
    with pytest.raises(QseError, match="needs text"):
        experiment("attention-analysis", tmp_path)
    models = f'models=["{small_run("qtransformer")}"]'
    with pytest.raises(QseError, match="models need recordings"):
        experiment("attention-analysis", tmp_path, [models])
    with pytest.raises(QseError, match="must be a qtransformer-hamilton"):
        experiment("attention-analysis", tmp_path, [models, f"audio={noisy}"])


def rate(weights, layer, pair, agreement):
    names = {"weights": weights, "layer": layer, "top": 1, "head": 0, "pair": pair}
    return names | {"agreement": agreement, "chance": 0.1, "marginal": 0.2}


def test_agreement_tables_are_means():
    rows = [
        rate("hamilton, a", "time 0", pair, x)
        for pair, x in (("0-1", 0.3), ("0-2", 0.1), ("1-2", 0.5))
    ]
    rows += [
        rate("hamilton, random weights", "time 0", pair, 0.1) for pair in ("0-1", "0-2", "1-2")
    ]
    rows += [{**row, "pair": "3-3"} for row in rows[:1]]
    assert by_top(rows)[0]["agreement %"] == "30.00 ± 16.33" and by_top(rows)[0]["ratio"] == "3.00"
    found = by_head(rows)[0]
    assert (found["component 0"], found["component 1"], found["component 2"]) == (
        "20.00",
        "40.00",
        "30.00",
    )
    assert found["hamilton, random weights"] == "10.00 ± 0.00" and found["paper"] == "0.35 ± 0.55"

"""Attention analysis: tables, pictures and controls of the experiment, on text and on speech."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib")

import soundfile
from qse_papers import experiment
from qse_papers.agreement_tables import by_head, by_top
from result_tables import column, numbers, rows_by, rows_of

from qse.errors import QseError

PICTURES = ("attention-agreement.png", "attention-maps.png", "attention-outputs.png")


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


def assert_drawn(folder):
    for name in PICTURES:
        assert (folder / name).stat().st_size > 5000


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
    assert set(column(rates, "weights")) == networks
    assert len(rates) == 4 * 2 * 2 * 6  # networks, numbers of keys, heads, pairs
    outputs = rows_by(tmp_path / "attention-outputs.csv", "outputs")
    assert len(outputs) == 8 + 6 * 3 and "q, k, v of hamilton, seed 0: shared / uniform" in outputs
    assert next(iter(outputs)) == "shared, seed 0 / hamilton, seed 1"
    assert outputs["shared, seed 0 / hamilton, seed 1"]["paper"].startswith("KS 0.0407")
    rows = list(outputs.values())
    assert max(map(abs, numbers(rows, "correlation"))) <= 1
    assert min(numbers(rows, "KS")) >= 0 and max(numbers(rows, "KS")) <= 1
    table = (tmp_path / "attention-analysis.md").read_text()
    assert "| paper, speech | 1 | 3.83 | 0.63 | 6.07 |" in table and "| layer 0 | 1 |" in table
    assert_drawn(tmp_path)

    # a second run trains nothing
    monkeypatch.setattr("qse_papers.sentiment.train_classifier", None)
    assert experiment("attention-analysis", tmp_path, changes) == line


def test_attention_analysis_of_speech(small_run, noisy, tmp_path):
    runs = [
        str(small_run("qtransformer-hamilton", 0)),
        str(small_run("qtransformer-hamilton", 1)),
        str(small_run("qtransformer")),
    ]
    changes = [f"models={json.dumps(runs)}", f"audio={noisy}", "seconds=0.05"]
    experiment("attention-analysis", tmp_path, changes)
    rates = rows_of(tmp_path / "attention-agreement.csv")
    assert set(column(rates, "layer")) == {"time 0", "frequency 0"}
    # two runs and two controls, layers, numbers of keys, heads, pairs
    assert len(rates) == 4 * 2 * 2 * 2 * 6
    for layer, top, expected in (("frequency 0", "1", 1 / 9), ("time 0", "5", 5 / 51)):
        assert numbers(rates, "chance", layer=layer, top=top)[0] == pytest.approx(expected)
    outputs = rows_of(tmp_path / "attention-outputs.csv")
    papers = column(outputs, "paper")
    assert "correlation 0.028" in papers[0]
    assert {"correlation 0.78", "correlation 0.88"} <= set(papers)
    assert_drawn(tmp_path)


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
    rows = []
    for pair, share in (("0-1", 0.3), ("0-2", 0.1), ("1-2", 0.5)):
        rows.append(rate("hamilton, a", "time 0", pair, share))
        rows.append(rate("hamilton, random weights", "time 0", pair, 0.1))
    rows.append(rate("hamilton, a", "time 0", "3-3", 0.3))
    assert by_top(rows)[0]["agreement %"] == "30.00 ± 16.33" and by_top(rows)[0]["ratio"] == "3.00"
    found = by_head(rows)[0]
    assert (found["component 0"], found["component 1"], found["component 2"]) == (
        "20.00",
        "40.00",
        "30.00",
    )
    assert found["hamilton, random weights"] == "10.00 ± 0.00" and found["paper"] == "0.35 ± 0.55"

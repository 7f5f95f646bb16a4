"""Time mixers experiment: the training of qse train, once per model and seed; the spread."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib")

from qse_papers import experiment
from result_tables import column, rows_of

from qse.errors import QseError


@pytest.fixture
def study(speech_study):
    """Changes for `mixers`: two networks, a small recipe and some seconds of audio."""
    recipe, *folders = speech_study
    return [recipe, 'mixers=["gru"]', 'algebras=["real"]', *folders]


def test_mixers_train_once_as_the_trainer_does(study, tmp_path, monkeypatch):
    from qse_papers import time_mixers as mixers

    from qse.networks.weights import load_network
    from qse.train.job import Job
    from qse.train.recipe import read_config
    from qse.train.run import train
    from qse.train.validation import validate
    from qse.train.validation_pairs import find_pairs, read_pairs

    monkeypatch.setattr(
        mixers.Mixers, "_costs", lambda self, configs, out: ({"model": name} for name in configs)
    )
    table = experiment("mixers", tmp_path / "out", study)
    rows = rows_of(tmp_path / "out" / "mixers-runs.csv")
    assert column(rows, "model") == ["gru", "real"] * 2
    assert column(rows, "seed") == ["0", "0", "1", "1"]
    assert len(set(column(rows, "si_sdr"))) == 4 and "| real | - |" in table

    config = read_config(tmp_path / "recipe.toml", ["train.seed=1", "model.algebra=real"])
    train(config, Job(tmp_path / "speech", tmp_path / "noise", tmp_path / "run"))
    network, _ = load_network(
        tmp_path / "run" / "config.toml", tmp_path / "run" / "checkpoint.safetensors"
    )
    scores = validate(
        network, read_pairs(find_pairs(tmp_path / "valid", 16000)), torch.device("cpu")
    )
    assert float(rows[3]["si_sdr"]) == pytest.approx(scores["si_sdr"], abs=1e-4)

    monkeypatch.setattr(mixers.Mixers, "_quality", None)  # nothing is trained again
    assert (
        experiment("mixers", tmp_path / "out", study)
        == experiment("mixers", tmp_path / "out", study[:3])
        == table
    )


def test_mixers_need_all_three_folders(study, tmp_path):
    with pytest.raises(QseError, match="valid=VALID"):
        experiment("mixers", tmp_path / "out", study[:-1])


def test_mixers_report_the_spread_over_seeds():
    from qse_papers.time_mixers import _summary

    run = {"model": "gru", "pesq_wb": 1.4, "stoi": 0.8, "si_sdr": 5.0}
    runs = [run, run | {"pesq_wb": 1.6}]
    assert _summary("gru", runs)["pesq_wb"] == "1.500 (1.400 to 1.600)"
    assert _summary("lstm", runs) == {}

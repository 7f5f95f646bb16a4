"""Time mixers experiment: the same training as qse train, once per model and seed; spread over seeds."""

import csv

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib")

from qse.errors import QseError
from qse.experiments import experiment


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


RECIPE = """
[model]
network = "streaming"
n_fft = 64
hop_length = 32
ranges = [[32, 2]]
channels = [2, 2, 4]
growth = 2
dilations = [1]
blocks = 1
heads = 2

[mix]
segment = 0.25
rooms = 2

[loss]
mrstft = 0.0
complex_l1 = 0.0
pesq = 0.0

[train]
batch = 2
steps = 3
"""


@pytest.fixture
def study(tmp_path):
    """Changes for `mixers`: a small recipe and some seconds of audio."""
    import soundfile
    from speech import hiss, voice

    for name, audio in {
        "speech/a/1.wav": voice(3), "noise/b/1.wav": 0.05 * hiss(32000), "valid/clean/1.wav": voice(2, 150),
        "valid/noisy/1.wav": voice(2, 150) + 0.02 * hiss(32000),
    }.items():  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(tmp_path / name, audio, 16000)
    (tmp_path / "recipe.toml").write_text(RECIPE)
    folders = [f"{name}={tmp_path / name}" for name in ("speech", "noise", "valid")]
    return [f"recipe={tmp_path / 'recipe.toml'}", 'mixers=["gru"]', 'algebras=["real"]', *folders]


def test_mixers_train_once_as_the_trainer_does(study, tmp_path, monkeypatch):
    from qse.experiments import time_mixers as mixers
    from qse.networks.weights import load_network
    from qse.train.job import Job
    from qse.train.recipe import read_config
    from qse.train.run import train
    from qse.train.validation import find_pairs, read_pairs, validate

    monkeypatch.setattr(
        mixers.Mixers, "_costs", lambda self, configs, out: ({"model": name} for name in configs)
    )
    table = experiment("mixers", tmp_path / "out", study)
    rows = rows_of(tmp_path / "out" / "mixers-runs.csv")
    assert [(row["model"], row["seed"]) for row in rows] == [
        ("gru", "0"),
        ("real", "0"),
        ("gru", "1"),
        ("real", "1"),
    ]
    assert len({row["si_sdr"] for row in rows}) == 4 and "| real | - |" in table

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
    from qse.experiments.time_mixers import _summary

    runs = [{"model": "gru", "pesq_wb": p, "stoi": 0.8, "si_sdr": 5.0} for p in (1.4, 1.6)]
    assert _summary("gru", runs)["pesq_wb"] == "1.500 (1.400 to 1.600)"
    assert _summary("lstm", runs) == {}

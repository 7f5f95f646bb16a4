"""The experiment on attention for speech: arms, pairs of seeds, margins, and when it is valid."""

import json

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib")
pytest.importorskip("pesq")

from qse_papers import experiment
from qse_papers.speech_attention import ARMS, DIGITS, PREMISE, SpeechAttention
from result_tables import column, numbers, rows_of

from qse.errors import QseError
from qse.evaluate import METRICS
from qse.train import read_config

HOURS = 4 * 0.5 / 3600  # four steps of two segments of 0.25 s


def test_speech_attention_trains_pairs_of_runs_and_compares_them(
    speech_study, tmp_path, monkeypatch
):
    out = tmp_path / "out"
    settings = [*speech_study, f"hours={HOURS}", "seeds=[0, 1]"]
    arms = ["shared", "hamilton", "uniform"]
    line = experiment("speech-attention", out, [*settings, f"arms={json.dumps(arms)}"])
    assert line.count("not valid, the uniform arm does not lose") == 2  # after four steps
    rows = rows_of(out / "speech-attention-seeds.csv")
    assert column(rows, "arm") == arms * 2 and column(rows, "seed") == ["0"] * 3 + ["1"] * 3
    lost = sum(numbers(rows, "si_sdr", arm="shared")) - sum(numbers(rows, "si_sdr", arm="hamilton"))
    differences = rows_of(out / "speech-attention-differences.csv")
    assert column(differences, "difference") == ["shared - hamilton", "uniform - hamilton"]
    shown = differences[0]["SI-SDR dB"].split(" ")[0]
    assert float(shown) == pytest.approx(lost / 2, abs=0.006)
    assert (out / "speech-attention.png").stat().st_size > 5000

    config = read_config(out / "uniform-1/config.toml")
    assert (config.train.steps, config.train.seed) == (4, 1)
    assert config.model["attention"] == ARMS["uniform"]

    monkeypatch.setattr("qse_papers.speech_training.train", None)  # nothing is trained again
    assert experiment("speech-attention", out, [*settings, f"arms={json.dumps(arms)}"]) == line
    with pytest.raises(QseError, match=r"pesq_margin = 0\.05, not 0\.1"):
        experiment("speech-attention", out, [*settings, "pesq_margin=0.1"])


def test_speech_attention_continues_a_run_that_was_stopped(speech_study, tmp_path, monkeypatch):
    """The second call takes the steps that are missing, and gives the scores of a run in one go."""
    from qse.train.trainer import Trainer

    settings = [*speech_study, f"hours={HOURS}", "seeds=[0, 1]", 'arms=["hamilton", "none"]']
    experiment("speech-attention", tmp_path / "whole", settings)
    step = Trainer.step

    def stopping(self, *asked):
        taken = step(self, *asked)
        return taken._replace(stop=self.done == 2)

    with monkeypatch.context() as context:
        context.setattr(Trainer, "step", stopping)
        with pytest.raises(QseError, match="stopped after step 2 of 4; give the same command"):
            experiment("speech-attention", tmp_path / "parts", settings)
    experiment("speech-attention", tmp_path / "parts", settings)
    whole = (tmp_path / "whole/speech-attention-seeds.csv").read_text()
    assert (tmp_path / "parts/speech-attention-seeds.csv").read_text() == whole


def runs(**scores):
    """Return rows of all arms and three seeds, with equal scores but those of `scores`."""
    rows = []
    for arm in ARMS:
        for seed in range(3):
            row = dict.fromkeys(DIGITS, 1.0 + 0.001 * seed)
            shift = scores.get(arm.replace("-", "_"), 0.0)
            rows.append({"arm": arm, "seed": seed} | row | {"pesq_wb": 2 + shift + 0.001 * seed})
    return rows


@pytest.mark.parametrize(
    "scores, sentence",
    [
        ({"uniform": -0.2}, "no loss at a margin of 0.05: shared - hamilton +0.000"),
        (
            {"uniform": -0.2, "shared": -0.1},
            "loss at a margin of 0.05: shared - hamilton -0.1",
        ),
        ({"uniform": -0.04}, "not valid, the uniform arm does not lose more than 0.05"),
    ],
)
def test_speech_attention_is_valid_if_the_uniform_arm_loses(scores, sentence):
    settings = SpeechAttention()
    compared = settings._compared(runs(**scores))
    title = METRICS["pesq_wb"].title
    assert settings._finding("pesq_wb", compared).startswith(f"{title}: {sentence}")


def test_speech_attention_compares_the_loss_with_real_projections():
    compared = SpeechAttention()._compared(runs(shared=-0.02, shared_real=-0.07))
    assert compared[PREMISE, "pesq_wb"].mean == pytest.approx(0.05)


def test_speech_attention_refuses_settings(tmp_path):
    with pytest.raises(QseError, match="an interval needs two"):
        experiment("speech-attention", tmp_path, ["seeds=[0]"])
    with pytest.raises(QseError, match="nothing to compare; add hamilton"):
        experiment("speech-attention", tmp_path, ['arms=["shared", "none"]'])
    with pytest.raises(QseError, match="choose from shared, hamilton, uniform"):
        experiment("speech-attention", tmp_path, ['arms=["sahred"]'])
    with pytest.raises(QseError, match="valid=VALID"):
        experiment("speech-attention", tmp_path)

"""Loss terms and corpora that a recipe names by "package.module:Name"."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

import own_parts
from small_training import CONFIG, LOSS, PLAN, job

from qse.errors import QseError
from qse.losses import LossConfig, WeightedSum
from qse.networks.weights import load_tensors
from qse.train.job import Job
from qse.train.preflight import prepare
from qse.train.recipe import read_config
from qse.train.run import train

RECIPE = """
[model]
network = "streaming"

[loss]
own = {"own_parts:distance" = 3.0}
"""


def test_a_recipe_and_the_command_line_name_loss_terms(tmp_path):
    path = tmp_path / "recipe.toml"
    path.write_text(RECIPE)
    assert read_config(path).loss.own == {"own_parts:distance": 3.0}
    changes = ["loss.own={'own_parts:distance' = 2}"]
    assert read_config(path, changes).loss.own == {"own_parts:distance": 2}
    with pytest.raises(QseError, match="own = 'x': write terms of your own with weights, as "):
        read_config(path, ["loss.own=x"])
    with pytest.raises(QseError, match="a weight is 0 or more, and finite"):
        read_config(path, ["loss.own={'own_parts:distance' = -2}"])


def test_a_named_term_is_the_same_as_the_function():
    clean, enhanced = torch.randn(2, 3, 4000).unbind()
    named = WeightedSum(replace(LOSS, own={"own_parts:distance": 3.0}))
    given = WeightedSum(LOSS, {"distance": (3.0, own_parts.distance)})
    total, terms = named(clean=clean, enhanced=enhanced)
    expected, _ = given(clean=clean, enhanced=enhanced)
    assert total == expected and terms["distance"] == (clean - enhanced).abs().mean()
    alone = WeightedSum(own={"distance": (1.0, "own_parts:distance")})
    assert alone(clean=clean, enhanced=enhanced)[0] == terms["distance"]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("distance", "unknown loss term 'distance'; there are mrstft, si_sdr, .*package.module"),
        ("own_parts:none", "loss term 'own_parts:none': cannot be imported"),
        ("own_parts:with_target", "'with_target' needs 'target': there are clean, enhanced"),
        ("qse.losses:rms", "a term of LossConfig has this name"),
    ],
)
def test_terms_that_cannot_be_used_are_refused_before_training(
    training_audio, tmp_path, name, sentence
):
    config = replace(CONFIG, loss=replace(LOSS, own={name: 1.0}))
    with pytest.raises(QseError, match=sentence):
        prepare(config, job(training_audio, tmp_path / "unborn", valid=None))
    assert not (tmp_path / "unborn").exists()


def test_train_on_a_named_corpus_with_a_named_term(tmp_path):
    (tmp_path / "corpus.txt").touch()
    loss = LossConfig(
        mrstft=0, si_sdr=0, rms=0, complex_l1=0, pesq=0, own={"own_parts:distance": 1}
    )
    config = replace(CONFIG, dataset="own_parts:corpus", loss=loss, train=replace(PLAN, steps=2))
    train(config, Job(data=tmp_path, out=tmp_path / "run"))
    assert load_tensors(tmp_path / "run/checkpoint.safetensors")[1]["step"] == "2"
    assert "distance" in (tmp_path / "run/train.csv").read_text().splitlines()[0]
    again = read_config(tmp_path / "run/config.toml")
    assert again.loss == loss and again.dataset == "own_parts:corpus"


def test_an_unknown_corpus_is_refused_with_those_that_there_are(tmp_path):
    config = replace(CONFIG, dataset="librispeech")
    with pytest.raises(QseError, match="unknown dataset 'librispeech'; there are voicebank, dns3"):
        train(config, Job(data=tmp_path, out=tmp_path / "unborn"))

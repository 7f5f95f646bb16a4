"""The names that a recipe gives: editors complete all that are built in, and a name that is not
known is answered with them."""

from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

torch = pytest.importorskip("torch")

from qse.data.open_sources import CORPORA, find_corpus
from qse.errors import QseError
from qse.evaluate.metric_names import MetricName
from qse.evaluate.named_metrics import resolve
from qse.losses import LossConfig, WeightedSum
from qse.losses.terms import TERMS
from qse.networks import NETWORKS, ModelTable, StreamingConfig, build_network
from qse.networks.time_mixers import BAND_ATTENTION, TIME_MIXERS
from qse.train.job import Job
from qse.train.preflight import prepare
from qse.train.recipe import RunConfig
from qse.train.train_config import TrainConfig


def completed(hint: Any) -> set[str]:
    """Return the texts that an editor completes for a value of a type."""
    if get_origin(hint) is Literal:
        return set(get_args(hint))
    return set().union(*map(completed, get_args(hint)))


@pytest.mark.parametrize(
    ("table", "field", "known"),
    [
        (ModelTable, "network", NETWORKS),
        (StreamingConfig, "time_mixer", TIME_MIXERS),
        (StreamingConfig, "attention", BAND_ATTENTION),
        (RunConfig, "dataset", CORPORA),
    ],
)
def test_the_types_of_names_hold_those_of_their_tables_and_any_text(table, field, known):
    hint = get_type_hints(table)[field]
    assert completed(hint) == set(known)
    assert str in get_args(hint) or str in get_args(get_args(hint)[0])


def test_the_weights_of_the_terms_are_fields():
    assert set(TERMS) <= {
        name for name, hint in get_type_hints(LossConfig).items() if hint is float
    }


@pytest.mark.parametrize(
    ("use", "known"),
    [
        (lambda: build_network({"network": "no"}), NETWORKS),
        (lambda: StreamingConfig(time_mixer=("no",)), TIME_MIXERS),
        (lambda: StreamingConfig(attention="no"), BAND_ATTENTION),
        (lambda: build_network({"network": "streaming", "algebra": "no"}), ("real", "phm")),
        (lambda: TrainConfig(optimizer="no"), ("adamw", "muon")),
        (lambda: TrainConfig(precision="no"), ("float32", "bfloat16", "float16")),
        (lambda: LossConfig(complex_l1_of="no"), ("waveform", "mask")),
        (lambda: WeightedSum(LossConfig(own={"no": 1.0})), TERMS),
        (lambda: resolve(["no"]), completed(MetricName)),
    ],
)
def test_an_unknown_name_is_answered_with_the_known_ones(use, known):
    with pytest.raises((QseError, ValueError), match="'no'") as raised:
        use()
    for name in known:
        assert name in str(raised.value)


def test_a_corpus_that_is_not_known(tmp_path):
    with pytest.raises(QseError, match="unknown dataset 'no'; there are voicebank, dns3, and your"):
        prepare(RunConfig(dataset="no"), Job(data=tmp_path, out=tmp_path / "run"))
    with pytest.raises(QseError, match="is called with"):
        find_corpus("qse.audio.ffmpeg_process:Child")

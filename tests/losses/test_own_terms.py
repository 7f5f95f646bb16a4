"""Loss terms of one's own, and the least length of a segment."""

import re
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from qse.losses import LossConfig, WeightedSum
from qse.losses.terms import TERMS
from qse.losses.weighted_sum import as_loss

NONE = LossConfig(mrstft=0, si_sdr=0, rms=1, complex_l1=0, pesq=0)


def distance(*, clean, enhanced):
    return (clean - enhanced).abs().mean()


def of_everything(*, clean, enhanced, noisy, sample_rate):
    return noisy.sum() * 0 + sample_rate


def signals(samples: int) -> dict:
    torch.manual_seed(0)
    return {name: 0.1 * torch.randn(2, samples) for name in ("clean", "enhanced", "noisy")}


def test_weighted_sum_adds_weighted_terms():
    x = signals(4000)
    loss = WeightedSum(NONE, {"distance": (3.0, distance), "level": (0.5, of_everything)})
    total, terms = loss(**x, sample_rate=8000)
    base, of_base = WeightedSum(NONE)(**x, sample_rate=8000)
    expected = base + 3 * distance(clean=x["clean"], enhanced=x["enhanced"]) + 0.5 * 8000
    torch.testing.assert_close(total, expected)
    assert terms.keys() == {*of_base, "distance", "level"} and terms["level"] == 8000


def test_weighted_sum_of_one_function():
    x = signals(4000)
    total, terms = as_loss(distance)(**x)
    torch.testing.assert_close(total, distance(clean=x["clean"], enhanced=x["enhanced"]))
    assert list(terms) == ["distance"]


def test_own_terms_are_computed_in_the_precision_of_clean():
    x = signals(4000)
    found = []

    def kinds(*, clean, enhanced):
        found.append((enhanced.dtype, (clean[:1] @ enhanced[:1].T).dtype))
        return distance(clean=clean, enhanced=enhanced)

    with torch.autocast("cpu", torch.bfloat16):
        as_loss(kinds)(clean=x["clean"], enhanced=x["enhanced"].bfloat16())
    assert found == [(torch.float32, torch.float32)]


def test_weighted_sum_names_a_term_that_returns_no_loss():
    x = signals(4000)
    terms = {
        "(2,): return the mean": lambda *, enhanced: enhanced.mean(1),
        "float: return the mean": lambda *, enhanced: enhanced.mean().item(),
        "has no gradient": lambda *, enhanced: enhanced.detach().mean(),
    }
    x["enhanced"].requires_grad_()
    for words, term in terms.items():
        with pytest.raises(ValueError, match=f"loss term 'odd'.*{re.escape(words)}"):
            WeightedSum(own={"odd": (1.0, term)})(**x)


@pytest.mark.parametrize("name", ["loss", "step", "rate", "norm", "audio_hours"])
def test_weighted_sum_refuses_names_of_columns(name):
    with pytest.raises(ValueError, match="curves have a column of this name"):
        WeightedSum(own={name: (1.0, distance)})


def test_weighted_sum_refuses():
    with pytest.raises(ValueError, match="'rms': a term of LossConfig has this name"):
        WeightedSum(NONE, {"rms": (1.0, distance)})
    with pytest.raises(ValueError, match="'own': its weight is 0, and must be above 0"):
        WeightedSum(NONE, {"own": (0, distance)})
    with pytest.raises(
        ValueError, match="'own' needs 'target': there are clean, enhanced, noisy, sample_rate"
    ):
        WeightedSum(own={"own": (1, lambda target: target)})
    with pytest.raises(ValueError, match="there is no loss to train with"):
        WeightedSum()


@pytest.mark.parametrize("sample_rate", [16000, 48000])
@pytest.mark.parametrize("term", sorted(set(TERMS) - {"stoi", "discriminator"}))
def test_least_samples_is_the_shortest_segment_of_each_term(term, sample_rate):
    config = replace(NONE, rms=0.0, **{term: 1.0}) if term != "rms" else NONE
    least = WeightedSum(config).least_samples(sample_rate)
    total, _ = WeightedSum(config)(**signals(least), sample_rate=sample_rate)
    assert torch.isfinite(total)
    if least > 1:
        with pytest.raises(RuntimeError):
            WeightedSum(config)(**signals(least - 1), sample_rate=sample_rate)


def test_least_samples_of_own_terms_alone():
    assert WeightedSum(own={"own": (1.0, distance)}).least_samples(16000) == 1


def test_least_samples_of_stoi_is_what_a_segment_needs_to_count():
    config = replace(NONE, rms=0.0, stoi=1.0)
    least = WeightedSum(config).least_samples(16000)
    loud = signals(least)["clean"]
    assert WeightedSum(config)(clean=loud, enhanced=loud)[0] < 0.01
    assert least == 6400

"""The weighted sum of losses and its configuration."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from loss_signals import LOSSES

from qse import losses
from qse.losses import WeightedSum, weighted_sum
from qse.losses.terms import Term


def test_weighted_sum_gradient_of_silence_points_to_clean(pair):
    enhanced = torch.zeros_like(pair[0]).requires_grad_()
    WeightedSum(losses.LossConfig())(clean=pair[0], enhanced=enhanced)[0].backward()
    assert (enhanced.grad * pair[0]).sum() < 0


def test_weighted_sum_is_equation_70(pair):
    clean, enhanced = pair
    total, values = WeightedSum(losses.LossConfig())(clean=clean, enhanced=enhanced)
    assert set(values) == {"mrstft", "si_sdr", "rms", "complex_l1", "pesq"}
    expected = {name: LOSSES[name](clean=clean, enhanced=enhanced).item() for name in values}
    expected["si_sdr"] /= 10
    assert {name: value.item() for name, value in values.items()} == pytest.approx(expected)
    by_hand = (
        3.5 * expected["mrstft"]
        + 2 * expected["si_sdr"]
        + expected["rms"]
        + 2.5 * expected["complex_l1"]
    )
    assert total.item() == pytest.approx(by_hand + expected["pesq"])


def test_weighted_sum_leaves_out_terms_of_weight_zero(pair, monkeypatch):
    for name in ("pesq", "mrstft"):
        monkeypatch.setitem(weighted_sum.TERMS, name, Term(None))  # raises where it is computed
    config = losses.LossConfig(mrstft=0, pesq=0, compressed=2, n_fft=400, hop_length=100)
    _, values = WeightedSum(config)(clean=pair[0], enhanced=pair[1])
    assert set(values) == {"si_sdr", "rms", "complex_l1", "compressed"}
    fine = losses.complex_l1(clean=pair[0], enhanced=pair[1], n_fft=400, hop_length=100)
    assert values["complex_l1"].item() == pytest.approx(fine.item())


def test_weighted_sum_compares_the_specs_of_a_mask(pair):
    """Eq. 72 by NumPy, of the specs in place of the waveforms."""
    clean, guess = torch.randn(2, 3, 2, 5, 7, dtype=torch.float64).unbind()
    config = losses.LossConfig(mrstft=0, si_sdr=0, rms=0, pesq=0, complex_l1_of="mask")
    total, values = WeightedSum(config)(clean=pair[0], enhanced=pair[1], specs=(clean, guess))
    error = np.abs((guess - clean).numpy())
    expected = error[:, 0].mean() + error[:, 1].mean()
    assert values["complex_l1"].item() == pytest.approx(expected) and total.item() == pytest.approx(
        2.5 * expected
    )
    with pytest.raises(ValueError, match="needs the specs"):
        WeightedSum(config)(clean=pair[0], enhanced=pair[1])


@pytest.mark.parametrize(
    "wrong, words",
    [
        ({"mrstft": 0, "si_sdr": 0, "rms": 0, "complex_l1": 0, "pesq": 0}, "all weights are 0"),
        ({"si_sdr_unit": 0.0}, "si_sdr_unit = 0.0: must be above 0"),
        ({"si_sdr_unit": np.inf}, "si_sdr_unit = inf: must be above 0 and finite"),
        ({"snr": np.nan}, "snr nan: a weight is 0 or more"),
        ({"stoi": -1.0}, "stoi -1.0: a weight is 0 or more"),
        ({"hop_length": 0}, "hop_length = 0: must be above 0"),
        ({"complex_l1_of": "spec"}, "complex_l1_of 'spec': choose waveform or mask"),
    ],
)
def test_loss_config_refuses(wrong, words):
    with pytest.raises(ValueError, match=words):
        losses.LossConfig(**wrong)

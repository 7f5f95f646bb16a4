"""Spoken classifier: padding, matched width, counts of Parcollet et al., Table 1."""

import pytest

torch = pytest.importorskip("torch")

from qse_papers.networks.spoken import SpokenClassifier, units_with
from tensors import count


@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
@pytest.mark.parametrize("algebra", ["quaternion", "real"])
def test_spoken_classifier_ignores_padding(cell, algebra):
    torch.manual_seed(0)
    network = SpokenClassifier(cell, algebra, 5, 8, 2, 3).eval()
    x = torch.randn(2, 7, 4, 5)
    frames = torch.tensor([7, 4])
    y = network(x, frames)
    x[1, 4:] = 9.0
    torch.testing.assert_close(network(x, frames), y)
    torch.testing.assert_close(network(x[1:, :4], frames[1:]), y[1:])


@pytest.mark.parametrize(
    "algebra, layers, units, millions",
    [
        ("quaternion", 4, 2048, 11.3),
        ("real", 4, 2048, 33.4),
        ("quaternion", 3, 2048, 9.2),
        ("real", 3, 2048, 25.0),
        ("quaternion", 4, 3072, 22.3),
        ("real", 4, 3072, 72.1),
    ],
)
def test_hidden_parameters_leave_the_same_output_layer(algebra, layers, units, millions):
    """Parcollet et al., Table 1, is reached within rounding with about 1,850 phoneme states.

    The text omits their number.
    """
    with torch.device("meta"):
        network = SpokenClassifier("rnn", algebra, 40, units, layers, 1850)
    assert count(network) / 1e6 == pytest.approx(millions, abs=0.2)


def test_units_with_is_the_largest_that_fits():
    units = units_with(20_000, "rnn", 40, 2, 10)
    network = SpokenClassifier("rnn", "real", 40, units, 2, 10)
    wider = SpokenClassifier("rnn", "real", 40, units + 4, 2, 10)
    assert count(network) <= 20_000 < count(wider)

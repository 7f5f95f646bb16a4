"""Batches of texts of similar length."""

import pytest

torch = pytest.importorskip("torch")

from qse_papers.classify import batches_by_length, predictions, trimmed
from qse_papers.networks.text import TextClassifier, TextConfig


def texts(count: int, longest: int) -> torch.Tensor:
    tokens = torch.randint(1, 20, (count, longest))
    return tokens * (torch.arange(longest) < torch.randint(1, longest + 1, (count, 1)))


def test_batches_by_length_hold_every_text_once():
    tokens = texts(103, 12)
    batches = batches_by_length([tokens], 4, pool=10)
    assert sorted(torch.cat(batches).tolist()) == list(range(103))
    lengths = (tokens != 0).sum(1)
    spread = 0
    for part in batches:
        spread += float(lengths[part].max() - lengths[part].min()) / len(batches)
    assert spread < 2.5  # of random batches it is 7
    again = batches_by_length([tokens], 4, pool=10)
    assert torch.cat(again).tolist() != torch.cat(batches).tolist()


def test_predictions_do_not_depend_on_padding():
    torch.manual_seed(0)
    network = TextClassifier(TextConfig("full", dim=16, feed=16, heads=2, layers=1), 20, 3).eval()
    tokens = texts(9, 6)
    padded = torch.cat([tokens, torch.zeros(9, 5, dtype=torch.long)], 1)
    assert trimmed(padded).shape[1] <= 6
    torch.testing.assert_close(network(trimmed(padded)), network(padded))
    expected = network(tokens).argmax(-1)
    assert predictions(network, [padded], 4).equal(expected)


def test_batches_of_features_are_random():
    features = torch.randn(10, 4, 6)
    assert sorted(torch.cat(batches_by_length([features], 4)).tolist()) == list(range(10))
    assert trimmed(features) is features

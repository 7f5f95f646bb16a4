"""Random choices from a corpus."""

import pytest

torch = pytest.importorskip("torch")

from made_corpora import sine

from qse.data.corpus import Corpus
from qse.data.sampling import BatchRng, CorpusSampler


def test_groups_are_drawn_by_duration():
    corpus = Corpus.of([sine(500, 9.0), sine(500, 0.5), sine(500, 0.5)], ["long", "short", "short"])
    dice = BatchRng(0, 0, 0, torch.device("cpu"))
    for balance, expected in ((0.0, 1 / 2), (0.5, 3 / 4), (1.0, 9 / 10)):
        share = (CorpusSampler(corpus, balance).groups(dice, 4000) == 0).float().mean().item()
        assert share == pytest.approx(expected, abs=0.03)

"""Random choices from a corpus."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from made_corpora import sine

from qse.data.corpus import Corpus
from qse.data.sampling import BatchRng, CorpusSampler, step_seed


def test_random_numbers_of_a_step_are_unrelated():
    """Those for choices, for samples, and for the trainer."""
    drawn = []
    for step in range(4000):
        rng = BatchRng(0, 0, step, torch.device("cpu"))
        trained = torch.Generator().manual_seed(step_seed(0, 0, step, "training"))
        sample = torch.rand((), generator=rng._samples)
        drawn.append([rng.uniform(0, 1).item(), sample, torch.rand((), generator=trained)])
    assert np.abs(np.corrcoef(np.transpose(drawn)) - np.eye(3)).max() < 0.06


def test_groups_are_drawn_by_duration():
    corpus = Corpus.of([sine(500, 9.0), sine(500, 0.5), sine(500, 0.5)], ["long", "short", "short"])
    rng = BatchRng(0, 0, 0, torch.device("cpu"))
    for balance, expected in ((0.0, 1 / 2), (0.5, 3 / 4), (1.0, 9 / 10)):
        share = (CorpusSampler(corpus, balance).groups(rng, 4000) == 0).float().mean().item()
        assert share == pytest.approx(expected, abs=0.03)


def test_looped_repeats_short_recordings_seamlessly_or_after_gaps():
    """Half of the rows of a short recording have gaps of up to half a second; a long recording has
    none."""
    rate = 16000
    rows = 400
    short = Corpus.of([np.full(rate // 4, 8000, np.int16)], [""])
    long = Corpus.of([np.full(3 * rate, 8000, np.int16)], [""])
    gaps = {}
    for name, corpus in (("short", short), ("long", long)):
        sampler = CorpusSampler(corpus, 1.0)
        rng = BatchRng(0, 0, 0, torch.device("cpu"))
        audio = sampler.looped(rng, torch.zeros(rows, dtype=torch.long), 2 * rate)
        gaps[name] = [longest_silence(row) for row in audio]
    gapped = [gap for gap in gaps["short"] if gap > sampler.overlap]
    assert len(gapped) / rows == pytest.approx(0.5, abs=0.1)
    assert rate / 2.5 < max(gapped) <= rate / 2 + sampler.overlap
    assert max(gaps["long"]) == 0


def longest_silence(row: torch.Tensor) -> int:
    """Return the length of the longest stretch of zeros, in samples."""
    loud = torch.nonzero(row.abs() > 1e-6).flatten()
    return int((loud.diff() - 1).max())

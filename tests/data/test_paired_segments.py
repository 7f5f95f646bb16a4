"""Segments of recorded pairs."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from qse.data.corpus import Corpus
from qse.data.paired_segments import PairedSegments


def numbered(lengths):
    """Recordings whose samples tell the recording and the place."""
    return [
        (1000 * number + np.arange(length)).astype(np.int16)
        for number, length in enumerate(lengths)
    ]


def test_paired_segments_of_an_epoch():
    noisy = numbered([100, 120, 90, 300, 80, 500])
    source = PairedSegments(
        Corpus.of(noisy, [""] * 6), Corpus.of([x + 7 for x in noisy], [""] * 6), 80, seed=1
    )
    assert source.segments == 6
    orders = []
    for epoch in range(2):
        first = source.batch(3 * epoch, 2)
        second = source.batch(3 * epoch + 1, 2)
        third = source.batch(3 * epoch + 2, 2)
        noisy, clean = (
            32768 * torch.cat(side) for side in zip(first[:2], second[:2], third[:2], strict=True)
        )
        assert torch.equal(clean[:, 1:], noisy[:, 1:] + 7)  # one sample of fade
        assert torch.equal(noisy[:, 1:].diff(), torch.ones(6, 78))
        orders.append((noisy[:, 1] // 1000).int().tolist())
        assert sorted(orders[-1]) == [0, 1, 2, 3, 4, 5]
    assert orders[0] != orders[1]
    again = PairedSegments(source.noisy, source.clean, 80, seed=1)
    assert torch.equal(again.batch(4, 2)[0], source.batch(4, 2)[0])


def test_paired_segments_are_shared_by_processes():
    corpus = Corpus.of(numbered([100] * 8), [""] * 8)
    source = PairedSegments(corpus, corpus, 100, seed=1, shares=2)
    places = ((0, 0), (0, 1), (1, 0), (1, 1))
    batches = [source.batch(step, 2, rank)[0] for step, rank in places]
    assert sorted((32768 * torch.cat(batches)[:, 1] // 1000).int().tolist()) == list(range(8))


def test_paired_segments_pad_short_pairs():
    corpus = Corpus.of(numbered([60]), [""])
    noisy, *_ = PairedSegments(corpus, corpus, 80, seed=1).batch(0, 3)
    assert (
        torch.equal(32768 * noisy[:, 1:59], torch.arange(1, 59).expand(3, -1).float())
        and not noisy[:, 60:].any()
    )

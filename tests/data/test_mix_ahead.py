"""A thread that makes batches ahead."""

import threading

import pytest

torch = pytest.importorskip("torch")

from qse.data.mix_ahead import MixAhead


def test_mix_ahead_returns_the_batches_asked_for():
    ahead = MixAhead(lambda step, share: (step, share), range(2, 4), ahead=3)
    asked = [(0, 2), (0, 3), (1, 2), (1, 3), (7, 3), (8, 2), (3, 2)]  # it may jump
    assert [ahead(*key) for key in asked] == asked


def test_mix_ahead_begins_the_next_batches_before_they_are_asked_for():
    begun = []
    third = threading.Event()

    def batches(step, share):
        begun.append(step)
        if step == 2:
            third.set()
        return step

    ahead = MixAhead(batches, range(1), ahead=2)
    assert ahead(0, 0) == 0
    assert third.wait(60) and begun == [0, 1, 2]
    assert ahead(1, 0) == 1


def test_mix_ahead_raises_where_the_batch_is_used():
    def batches(step, share):
        if step == 1:
            raise ValueError("no audio")
        return step

    ahead = MixAhead(batches, range(1), ahead=1)
    assert ahead(0, 0) == 0
    with pytest.raises(ValueError, match="no audio"):
        ahead(1, 0)

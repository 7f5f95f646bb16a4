"""Parallel scans against the recurrences that they stand for."""

import pytest

torch = pytest.importorskip("torch")

from qse_papers.nn.scan import decay_scan, turn_scan
from tensors import close, draw

from qse.nn.quaternion import hamilton_product


@pytest.mark.parametrize("frames", [1, 2, 3, 8, 13])
def test_scans_equal_their_recurrences(frames):
    decay = draw(2, frames, 4, 3).sigmoid()
    x = draw(2, frames, 4, 3, seed=1)
    start = draw(2, 4, 3, seed=2)
    turn = 0.6 * draw(4, 3, seed=3)
    decayed = decay_scan(decay, x, start)
    turned = turn_scan(turn, x, start)
    h = start
    g = start
    for t in range(frames):
        h = decay[:, t] * h + x[:, t]
        g = hamilton_product(g, turn, -2) + x[:, t]
        close(decayed[:, t], h)
        close(turned[:, t], g)

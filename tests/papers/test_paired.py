"""Paired differences: SciPy's paired interval, and verdicts at a margin."""

import pytest

pytest.importorskip("torch")

from qse_papers.paired import Difference, difference
from scipy import stats


def test_difference_is_the_interval_of_the_paired_t_test():
    values = [3.1, 2.9, 3.4, 3.0]
    reference = [3.0, 2.7, 3.5, 2.8]
    known = stats.ttest_rel(values, reference).confidence_interval(0.95)
    found = difference(values, reference)
    assert (found.low, found.high) == pytest.approx((known.low, known.high))
    assert found.mean == pytest.approx(0.1)


@pytest.mark.parametrize(
    "low, high, verdict",
    [
        (-0.20, -0.06, "loss"),
        (-0.20, -0.04, "undecided"),
        (-0.04, 0.02, "no loss"),
        (-0.06, 0.02, "undecided"),
        (0.01, 0.02, "no loss"),
    ],
)
def test_verdict_compares_the_interval_with_the_margin(low, high, verdict):
    assert Difference((low + high) / 2, low, high).verdict(0.05) == verdict

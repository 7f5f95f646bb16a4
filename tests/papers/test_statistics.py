"""Statistics against SciPy and by construction."""

import pytest

torch = pytest.importorskip("torch")

from qse_papers.statistics import correlation, ks_statistic, quantile_correlation, wasserstein
from scipy import stats


@pytest.fixture
def samples():
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(2, 500, generator=generator, dtype=torch.float64)
    return x, 1.5 * y + 0.3


def test_distances_equal_scipy(samples):
    x, y = samples
    assert ks_statistic(x, y) == pytest.approx(stats.ks_2samp(x, y).statistic)
    assert wasserstein(x, y, 500) == pytest.approx(stats.wasserstein_distance(x, y))
    assert ks_statistic(x, x) == 0 and wasserstein(x, x) == 0


def test_quantile_correlation_ignores_scale_and_order(samples):
    x, _ = samples
    assert quantile_correlation(x, 3 * x.flip(0) + 1) == pytest.approx(1)
    assert quantile_correlation(x, x.sign() * x.abs() ** 3) < 0.9


def test_correlation_interval_is_fishers(samples):
    x, y = samples
    found = correlation(x, x + y)
    reference = stats.pearsonr(x, x + y)
    interval = reference.confidence_interval(0.95)
    assert found.r == pytest.approx(reference.statistic)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert found.chance == pytest.approx(1.96 / 500**0.5, rel=0.01)
    assert correlation(x, x).high == pytest.approx(1)

"""Statistics of experiments: correlations with their error, distances between distributions."""

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats
from torch import Tensor

Z = stats.norm.ppf(0.975)  # of a 95 % interval


@dataclass(frozen=True)
class Correlation:
    """Pearson's r of n pairs and its 95 % interval.

    chance: the size of r that 95 % of uncorrelated samples stay below.
    """

    r: float
    low: float
    high: float
    chance: float


def correlation(x: Tensor, y: Tensor) -> Correlation:
    """Return the correlation of x and y (n,), n > 3; the interval by Fisher's z-transform."""
    found = stats.pearsonr(_values(x), _values(y))
    interval = found.confidence_interval(0.95)
    chance = math.tanh(Z / math.sqrt(x.numel() - 3))
    return Correlation(float(found.statistic), float(interval.low), float(interval.high), chance)


def ks_statistic(x: Tensor, y: Tensor) -> float:
    """Return the Kolmogorov-Smirnov statistic: the largest distance of two distributions."""
    return float(stats.ks_2samp(_values(x), _values(y), method="asymp").statistic)


def wasserstein(x: Tensor, y: Tensor, quantiles: int = 1000) -> float:
    """Return the Wasserstein-1 distance: the mean distance of equal quantiles."""
    return float(stats.wasserstein_distance(_quantiles(x, quantiles), _quantiles(y, quantiles)))


def quantile_correlation(x: Tensor, y: Tensor, quantiles: int = 1000) -> float:
    """Return the correlation of equal quantiles; near 1 for any two distributions of one shape."""
    return float(stats.pearsonr(_quantiles(x, quantiles), _quantiles(y, quantiles)).statistic)


def _values(x: Tensor) -> np.ndarray:
    return x.flatten().double().numpy()


def _quantiles(x: Tensor, count: int) -> np.ndarray:
    """Return the quantiles (i + 0.5) / count of the sample x, i = 0 ... count - 1."""
    return np.quantile(_values(x), (np.arange(count) + 0.5) / count, method="hazen")

"""Statistics of experiments: correlations with their sampling error, distances between distributions."""

import math
from dataclasses import dataclass
from statistics import NormalDist

import torch
from torch import Tensor

Z = NormalDist().inv_cdf(0.975)  # of a 95 % interval


@dataclass(frozen=True)
class Correlation:
    """Pearson's r of n pairs, its 95 % interval, and the size of r that 95 % of uncorrelated samples stay below."""

    r: float
    low: float
    high: float
    chance: float


def correlation(x: Tensor, y: Tensor) -> Correlation:
    """Return the correlation of x and y (n,), n > 3; the interval by Fisher's z-transform."""
    r = torch.corrcoef(torch.stack([x.flatten(), y.flatten()]).double())[0, 1].clamp(-1, 1).item()
    error = Z / math.sqrt(x.numel() - 3)
    z = math.atanh(min(max(r, -1 + 1e-15), 1 - 1e-15))
    return Correlation(r, math.tanh(z - error), math.tanh(z + error), math.tanh(error))


def ks_statistic(x: Tensor, y: Tensor) -> float:
    """Return the Kolmogorov-Smirnov statistic: the largest distance between two empirical distribution functions."""
    x, y = x.flatten().sort().values, y.flatten().sort().values
    points = torch.cat([x, y])
    shares = [torch.searchsorted(part, points, right=True) / part.numel() for part in (x, y)]
    return (shares[0] - shares[1]).abs().max().item()


def wasserstein(x: Tensor, y: Tensor, quantiles: int = 1000) -> float:
    """Return the Wasserstein-1 distance: the mean distance of equal quantiles."""
    return (_quantiles(x, quantiles) - _quantiles(y, quantiles)).abs().mean().item()


def quantile_correlation(x: Tensor, y: Tensor, quantiles: int = 1000) -> float:
    """Return the correlation of equal quantiles; near 1 for any two distributions of similar shape."""
    return correlation(_quantiles(x, quantiles), _quantiles(y, quantiles)).r


def _quantiles(x: Tensor, count: int) -> Tensor:
    """Return the quantiles (i + 0.5) / count of the sample x, i = 0 ... count - 1, linearly interpolated."""
    x = x.flatten().double().sort().values
    place = ((torch.arange(count, dtype=torch.float64) + 0.5) / count * x.numel() - 0.5).clamp(
        0, x.numel() - 1
    )
    below = place.long()
    return torch.lerp(x[below], x[(below + 1).clamp_max(x.numel() - 1)], place - below)

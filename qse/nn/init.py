"""Initialise quaternion weights (Parcollet et al., "Quaternion Recurrent Neural Networks",
Algorithm 1, Eqs. 18-24).

A weight is drawn in polar form, w = phi (cos theta + u sin theta): modulus phi, angle theta uniform
in [-pi, pi], and u a unit imaginary axis. phi follows the chi distribution with four degrees of
freedom that Eq. 22 derives, so that E|w|^2 = 4 sigma^2; a uniform phi in [-sigma, sigma], as in the
listing of Algorithm 1, would give a twelfth of that. The axis is drawn from a symmetric
distribution: drawn from [0, 1]^3 it would favour one octant.
"""

import math

import torch
from torch import Tensor


def sigma(fan_in: int, fan_out: int, criterion: str = "glorot") -> float:
    """Return the scale of Eqs. 23-24; fans are counted in quaternions,
    kernel positions included."""
    if criterion == "glorot":
        return 1 / math.sqrt(2 * (fan_in + fan_out))
    if criterion == "he":
        return 1 / math.sqrt(2 * fan_in)
    raise ValueError(f"unknown criterion {criterion!r}: one of glorot, he")


@torch.no_grad()
def quaternion_init_(weight: Tensor, criterion: str = "glorot") -> Tensor:
    """Fill a weight (4, out, in, *kernel) in polar form with E|w|^2 = 4 sigma^2, and return it."""
    _, *shape = weight.shape
    out, into, *kernel = shape
    positions = math.prod(kernel)
    scale = sigma(into * positions, out * positions, criterion)
    phi = scale * torch.linalg.vector_norm(torch.randn(4, *shape), dim=0)
    theta = (2 * torch.rand(shape) - 1) * math.pi
    axis = torch.nn.functional.normalize(torch.randn(3, *shape), dim=0)
    polar = torch.cat([torch.cos(theta)[None], axis * torch.sin(theta)])
    return weight.copy_(phi * polar)

"""Compute with quaternions on a tensor axis of their own.

q = q0 + q1 i + q2 j + q3 k is four real numbers along one tensor axis of size 4, in the order r, i,
j, k. Weights are (4, out, in, *kernel): component, output and input channels counted in
quaternions.

Layers compute y = x (x) w, as the main paper does: "Quaternion Self-Attention with Shared Scores",
Eqs. 4, 21 and 28. (Other papers write w (x) x: the same family of maps, up to conjugation.)
`hamilton_matrix` is the only function that expands a quaternion weight to its real matrix. A
layer's weight may be a module of another algebra instead (hypercomplex.py); `real_matrix`
calls it.

`conjugate` and `modulus` are not used by layers; they are building blocks of the paper's equations
(Eq. 3), for experiments and tests.
"""

from functools import lru_cache

import torch
from torch import Tensor, nn

# Row y, column x of Eq. 28: the component of w there, and its sign.
PART = ((0, 1, 2, 3), (1, 0, 3, 2), (2, 3, 0, 1), (3, 2, 1, 0))
SIGN = ((1, -1, -1, -1), (1, 1, 1, -1), (1, -1, 1, 1), (1, 1, -1, 1))


def hamilton_product(p: Tensor, q: Tensor, dim: int = -1) -> Tensor:
    """Compute p (x) q (Eq. 4) along the component axis `dim`; every other axis broadcasts."""
    p0, p1, p2, p3 = p.unbind(dim)
    q0, q1, q2, q3 = q.unbind(dim)
    return torch.stack(
        (
            p0 * q0 - p1 * q1 - p2 * q2 - p3 * q3,
            p0 * q1 + p1 * q0 + p2 * q3 - p3 * q2,
            p0 * q2 - p1 * q3 + p2 * q0 + p3 * q1,
            p0 * q3 + p1 * q2 - p2 * q1 + p3 * q0,
        ),
        dim,
    )


def conjugate(q: Tensor, dim: int = -1) -> Tensor:
    """Return q* = q0 - q1 i - q2 j - q3 k (Eq. 3)."""
    shape = [1] * q.dim()
    shape[dim] = 4
    return q * q.new_tensor([1.0, -1.0, -1.0, -1.0]).view(shape)


def modulus(q: Tensor, dim: int = -1) -> Tensor:
    """Return |q| = sqrt(q (x) q*), with the component axis removed."""
    return torch.linalg.vector_norm(q, dim=dim)


def hamilton_matrix(weight: Tensor) -> Tensor:
    """Expand a weight to the real matrix of x -> x (x) w (Eq. 28): (4, out, in, *kernel) ->
    (4 out, 4 in, *kernel).

    Rows and columns run over components first, channels second, as `flatten` of a (4, channels)
    pair of axes does.
    """
    _, out, into, *kernel = weight.shape
    # a tracer's tensors must not be cached
    basis = _basis if torch.compiler.is_compiling() else _cached_basis
    blocks = basis(weight.device, weight.dtype) @ weight.reshape(4, -1)  # 16, out*in*kernel
    blocks = blocks.view(4, 4, out, into, -1).transpose(1, 2)  # 4, out, 4, in, kernel
    return blocks.reshape(4 * out, 4 * into, *kernel)


def real_matrix(weight: Tensor | nn.Module) -> Tensor:
    """Return the real matrix (out, in, *kernel) of a layer's weight: a quaternion one, or a module
    that returns it."""
    return weight() if isinstance(weight, nn.Module) else hamilton_matrix(weight)


def gate_matrix(weight: Tensor | nn.Module) -> Tensor:
    """Expand (gates, 4, out, in) to (gates * 4 out, 4 in); a module of another algebra returns its
    own matrix."""
    if isinstance(weight, nn.Module):
        return weight()
    gates, _, out, _ = weight.shape
    real = hamilton_matrix(weight.transpose(0, 1).flatten(1, 2))  # 4 * gates * out, 4 in
    return real.view(4, gates, out, -1).transpose(0, 1).reshape(gates * 4 * out, -1)


@lru_cache
@torch.inference_mode(False)
def _cached_basis(device: torch.device, dtype: torch.dtype) -> Tensor:
    return _basis(device, dtype)


def _basis(device: torch.device, dtype: torch.dtype) -> Tensor:
    """Return (16, 4): entry (y, x) of Eq. 28 as a combination of w0..w3."""
    basis = torch.zeros(4, 4, 4, dtype=dtype)
    for y in range(4):
        for x in range(4):
            basis[y, x, PART[y][x]] = SIGN[y][x]
    return basis.view(16, 4).to(device)

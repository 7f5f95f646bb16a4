"""Attention written out by its equations, quaternion by quaternion, for comparison with the layers.

Shapes: tokens (N, L, C, 4) with quaternions last; heads (N, H, L, d, 4).
"""

import math

import torch

from qse.nn.quaternion import conjugate, hamilton_product

# sequences, heads, tokens, quaternions per head
N = 2
H = 3
L = 5
D = 2
C = H * D


def products(q, k):
    """Return the sum over l of Q_i^(l) (x) K_j^(l): (..., i, d, 4) and (..., j, d, 4) ->
    (..., i, j, 4)."""
    return hamilton_product(q[..., :, None, :, :], k[..., None, :, :, :]).sum(-2)


def shared(q, k, v):
    """Eqs. 9-13."""
    scores = products(q, conjugate(k))[..., 0] / math.sqrt(4 * D)
    return torch.einsum("...ij,...jda->...ida", scores.softmax(-1), v)


def hamilton(q, k, v):
    """Eqs. 14-16."""
    weights = (products(q, k) / math.sqrt(D)).softmax(-2)  # over j, each component by itself
    return torch.einsum("...ija,...jda->...ida", weights, v)


def linear(x, layer):
    """Eq. 21, summed product by product: (..., in, 4) -> (..., out, 4)."""
    # in, out, 4 and out, 4
    weight = layer.weight.permute(2, 1, 0)
    bias = layer.bias.T
    return hamilton_product(x[..., :, None, :], weight).sum(-3) + bias


def rms_norm(q, layer):
    """Eqs. 17-18: (..., d, 4)."""
    rms = (q.square().sum(-1, keepdim=True) / 4 + layer.eps).sqrt()
    return q / rms * layer.gain[:, None]


def heads(x):
    """(N, L, H d, 4) -> (N, H, L, d, 4): a head is d neighbouring quaternions."""
    return x.unflatten(2, (H, D)).transpose(1, 2)


def by_hand(layer, x, attend):
    """(N, L, 4, C) -> (N, L, 4, C): the complete layer from the equations above."""
    qkv = linear(x.transpose(-1, -2), layer.project.linear)
    q, k, v = (heads(part) for part in qkv.split(C, dim=2))
    y = attend(rms_norm(q, layer.project.norm_q), rms_norm(k, layer.project.norm_k), v)
    return linear(y.transpose(1, 2).flatten(2, 3), layer.out).transpose(-1, -2)


def assert_same(function, other, *tensors):
    """Raise AssertionError unless values, and gradients of a random projection in all `tensors`,
    are equal."""
    y = function()
    z = other()
    torch.testing.assert_close(y, z, rtol=1e-10, atol=1e-12)
    direction = torch.randn_like(y)
    for one, two in zip(
        torch.autograd.grad(y, tensors, direction),
        torch.autograd.grad(z, tensors, direction),
        strict=True,
    ):
        torch.testing.assert_close(one, two, rtol=1e-9, atol=1e-11)


def random_layer(kind):
    """Return a layer whose biases and gains are not those of a fresh one."""
    layer = kind(C, H)
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return layer

"""Hamilton-product attention between two sequences: align, compare, aggregate.

Tay et al. 2019, "Lightweight and Efficient Neural NLP with Quaternion Networks", section 3.2. a (N,
La, 4, C), b (N, Lb, 4, C); seen_a (N, La), seen_b (N, Lb): True where there is a token, False for
padding.
"""

import math

import torch
from torch import Tensor, nn

from qse.nn.linear import QuaternionLinear
from qse.nn.quaternion import hamilton_product

from ..nn.hamilton import component_scores


def align(a: Tensor, b: Tensor, seen_a: Tensor, seen_b: Tensor) -> tuple[Tensor, Tensor]:
    """Align two sequences: return B' (N, La, 4, C) and A' (N, Lb, 4, C).

    B' is b attended by every token of a, A' vice versa. E = A (x) B^T, G = softmax over b of every
    component of E, B' = G_R B_R + G_X B_X i + ..., and the same for E^T.
    """
    scores = component_scores(a[:, None], b[:, None])[:, 0] * math.sqrt(a.shape[-1])  # N, 4, La, Lb
    to_a = scores.masked_fill(~seen_b[:, None, None, :], -1e4).softmax(-1)
    to_b = scores.mT.masked_fill(~seen_a[:, None, None, :], -1e4).softmax(-1)
    return (to_a @ b.transpose(1, 2)).transpose(1, 2), (to_b @ a.transpose(1, 2)).transpose(1, 2)


def match(x: Tensor, y: Tensor) -> Tensor:
    """Concatenate [x; y; x (x) y; x - y] along the channels: (..., 4, C) twice -> (..., 4, 4 C)."""
    return torch.cat([x, y, hamilton_product(x, y, -2), x - y], -1)


class PairAttention(nn.Module):
    """a, b, seen_a, seen_b -> (N, 4, hidden): a quaternion vector of the relation of two sequences.

    C1 = sum over b of QFFN(match(A', b)), C2 = sum over a of QFFN(match(B', a)),
    Y = QFFN(match(C1, C2)); a QFFN is a quaternion linear layer and a ReLU per component.
    """

    def __init__(self, channels: int, hidden: int, dropout: float = 0.0):
        super().__init__()
        self.compare = _feed(4 * channels, hidden, dropout)
        self.aggregate = _feed(4 * hidden, hidden, dropout)

    def forward(self, a: Tensor, b: Tensor, seen_a: Tensor, seen_b: Tensor) -> Tensor:
        beta, alpha = align(a, b, seen_a, seen_b)
        c1 = (self.compare(match(alpha, b)) * seen_b[..., None, None]).sum(1)
        c2 = (self.compare(match(beta, a)) * seen_a[..., None, None]).sum(1)
        return self.aggregate(match(c1, c2))


def _feed(into: int, out: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(nn.Dropout(dropout), QuaternionLinear(into, out), nn.ReLU())

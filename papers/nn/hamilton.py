"""Hamilton-product attention (Tay et al. 2019, "Lightweight and Efficient Neural NLP with
Quaternion Networks", Eq. 4; main paper, Eqs. 14-16): one score matrix and one softmax per
component.

Tokens are (N, L, 4, C). Of one head: queries, keys and values (N, H, L, 4, d), scores S_a and
weights A_a for the component a of the Hamilton product. `component_attention` follows the equations
literally, 16 real products; `folded_attention` is the same function in one call: S_a is the dot
product in R^(4d) of the query and a signed permutation of the key, so the components become four
times as many heads.
"""

import math
from functools import reduce

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from qse.nn.attention import CausalSharedScoreAttention, Projections, attend, merge_heads
from qse.nn.declared import TOKENS
from qse.nn.linear import QuaternionLinear
from qse.nn.quaternion import PART, SIGN


def component_scores(q: Tensor, k: Tensor) -> Tensor:
    """Return Q (x) K^T / sqrt(d) by components, Eq. 14, as 16 products: (N, H, L, 4, d) twice ->
    (N, H, 4, L, L)."""
    queries = q.unbind(-2)
    keys = k.unbind(-2)
    rows = []
    for signs, order in zip(SIGN, PART, strict=True):
        products = [signs[x] * (queries[x] @ keys[order[x]].mT) for x in range(4)]
        rows.append(reduce(torch.add, products))
    return torch.stack(rows, 2) / math.sqrt(q.shape[-1])


def component_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Compute Eqs. 14-16 as written, with all scores in memory: (N, H, L, 4, d) each ->
    (N, H, L, 4, d)."""
    return (component_scores(q, k).softmax(-1) @ v.movedim(-2, 2)).movedim(2, -2)


def folded_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Compute `component_attention` as one fused call, without scores in memory.

    Values are padded with zeros from d to 4d, because fused kernels require heads of one width;
    even with four times the products after the softmax they are faster on a CPU.
    """
    d = k.shape[-1]
    sign = k.new_tensor(SIGN)[:, None, :, None]  # a, 1, 4, 1
    k = torch.stack([k[..., list(part), :] for part in PART], 2) * sign  # N, H, 4, L, 4, d
    k = k.flatten(-2)
    q = q.flatten(-2)[:, :, None].expand_as(k)
    v = F.pad(v.movedim(-2, 2), (0, 3 * d))  # N, H, 4, L, 4d, as q and k
    y = attend(q.flatten(1, 2), k.flatten(1, 2), v.flatten(1, 2), scale=1 / math.sqrt(d))[..., :d]
    return y.unflatten(1, (-1, 4)).movedim(2, -2)


class HamiltonAttention(nn.Module):
    """Attend from every token to all tokens with separate weights per component: (N, L, 4, C) ->
    (N, L, 4, C)."""

    quaternion_axis = TOKENS

    def __init__(self, channels: int, heads: int, qk_norm: bool = True):
        super().__init__()
        self.project = Projections(channels, heads, qk_norm)
        self.out = QuaternionLinear(channels, channels)
        self.attend = folded_attention

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (part.unflatten(-1, (4, -1)) for part in self.project(x))
        return self.out(merge_heads(self.attend(q, k, v).flatten(-2)))


def written_out_(module: nn.Module) -> nn.Module:
    """Switch all Hamilton attention below `module` to the literal form of Eqs. 14-16, and return
    the module."""
    for part in module.modules():
        if isinstance(part, HamiltonAttention):
            part.attend = component_attention
    return module


class CausalHamiltonAttention(CausalSharedScoreAttention):
    """Attend over past frames with a score and a softmax per component: (N, T, 4, C) -> same.

    Window, relative positions (one bias for all components) and state are those of
    `CausalSharedScoreAttention`.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        q = q.unflatten(-1, (4, -1))  # N, H, frames, 4, d
        k = k.unflatten(-1, (4, -1))
        v = v.unflatten(-1, (4, -1))
        scores = component_scores(q, k) + mask[:, :, None]  # N, H, 4, T, window - 1 + T
        weights = scores.softmax(-1)
        return (weights @ v.movedim(-2, 2)).movedim(2, -2).flatten(-2)

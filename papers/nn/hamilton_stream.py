"""Attend over time by Hamilton products, with a window (equations in hamilton.py)."""

from torch import Tensor

from qse.nn.attention import CausalSharedScoreAttention

from .hamilton import component_scores


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

"""Attend over time by Hamilton products, in a streaming layer with a window (equations in hamilton.py)."""

from torch import Tensor

from ..attention import CausalSharedScoreAttention
from ..hamilton import component_scores


class CausalHamiltonAttention(CausalSharedScoreAttention):
    """Attend over past frames with a score and a softmax per component: (N, T, 4, C) -> (N, T, 4, C).

    Window, relative positions (one bias for all components) and state are those of `CausalSharedScoreAttention`.
    """

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        q, k, v = (part.unflatten(-1, (4, -1)) for part in (q, k, v))  # N, H, frames, 4, d
        weights = (component_scores(q, k) + mask[:, :, None]).softmax(
            -1
        )  # N, H, 4, T, window - 1 + T
        return (weights @ v.movedim(-2, 2)).movedim(2, -2).flatten(-2)

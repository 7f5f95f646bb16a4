"""Compute attention on convolutions (QTN, Yang et al. 2023, as the main paper describes it in
sections 2 and 4.4).

A quaternion convolution along the sequence computes queries, keys and values, in place of the
quaternion linear layers of the paper's own attention. The score is the real dot product.
"""

from torch import Tensor, nn

from qse.nn.attention import attend, merge_heads
from qse.nn.conv import QuaternionConv2d
from qse.nn.declared import TOKENS
from qse.nn.linear import QuaternionLinear
from qse.nn.norm import QuaternionRMSNorm


class ConvolutionAttention(nn.Module):
    """Attend by real dot products of Q, K and V from a convolution over `kernel` tokens:
    (N, L, 4, C) -> same."""

    quaternion_axis = TOKENS

    def __init__(self, channels: int, heads: int, qk_norm: bool = True, kernel: int = 3):
        super().__init__()
        if channels % heads:
            raise ValueError(f"{heads} heads do not divide {channels} quaternion channels")
        self.heads = heads
        self.qk_norm = qk_norm
        self.project = QuaternionConv2d(
            channels, 3 * channels, (kernel, 1), padding=(kernel // 2, 0)
        )
        self.norm_q = QuaternionRMSNorm(channels // heads) if qk_norm else nn.Identity()
        self.norm_k = QuaternionRMSNorm(channels // heads) if qk_norm else nn.Identity()
        self.out = QuaternionLinear(channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        qkv = self.project(x.permute(0, 2, 3, 1)[..., None])[..., 0]  # N, 4, 3 C, L
        # each N, H, L, 4, d
        q, k, v = qkv.unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 5, 1, 4)
        q = self.norm_q(q)
        k = self.norm_k(k)
        return self.out(merge_heads(attend(q.flatten(-2), k.flatten(-2), v.flatten(-2))))

    def score_weights(self) -> dict[str, int]:
        """Return the weights that scores are proportional to, and of how many equal parts the first
        one is meant."""
        # Q, then K and V
        return {"norm_q.gain": 1} if self.qk_norm else {"project.weight": 3, "project.bias": 3}

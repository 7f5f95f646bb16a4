"""Register the real form of attention between the bands of a frame.

Other attention and time mixers declare the axis of their quaternions, and are lowered at their
boundary.
"""

from torch import Tensor, nn

from ..nn.attention import SharedScoreAttention
from .real_form import real_form, register
from .real_layers import real_linear


class RealAttention(nn.Module):
    """Compute `SharedScoreAttention` on (N, L, C): attention of real heads, the scale folded into
    weights."""

    def __init__(self, attention: SharedScoreAttention):
        super().__init__()
        project = attention.project
        self.heads = project.heads
        self.linear = real_linear(project.linear)
        self.out = real_linear(attention.out)
        channels = self.linear.in_features
        scaled = [parameter[:channels] for parameter in self.linear.parameters()]  # of the queries
        if project.qk_norm:
            scaled = list(project.norm_q.parameters())  # a norm would undo the scale of its input
        for weight in scaled:
            weight.mul_((channels // self.heads) ** -0.5)
        self.norm_q = real_form(project.norm_q)
        self.norm_k = real_form(project.norm_k)

    def forward(self, x: Tensor) -> Tensor:
        qkv = self.linear(x).mT.unflatten(1, (3 * self.heads, -1))  # N, 3 H, d, L
        q, k, v = qkv.split(self.heads, 1)
        weights = (self.norm_q(q.mT) @ self.norm_k(k.mT).mT).softmax(-1)  # N, H, L, L
        return self.out((v @ weights.mT).flatten(1, 2).mT)


register(SharedScoreAttention, RealAttention)

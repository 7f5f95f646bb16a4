"""Compute shared-score quaternion attention (main paper, section 3.3).

Tokens are (N, L, 4, C): N independent sequences of L tokens. A head holds whole quaternions: d = C
/ heads of them. One real score per pair of tokens, Re(q (x) k*) / sqrt(4 d), serves all four
components (Eqs. 9-13). Because that real part is the dot product in R^(4d) (Eqs. 5-7, 10), a head
is one call of scaled dot-product attention.
"""

from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .declared import TOKENS
from .layout import moved
from .linear import QuaternionLinear
from .norm import QuaternionRMSNorm
from .time_mixer import TimeMixer

FEW_TOKENS = 64  # e.g. the bands of a frame; see attend
# so that the memory of scores over time grows linearly with the length of a recording
FRAMES_AT_ONCE = 128


class Projections(nn.Module):
    """Compute queries, keys and values of all heads in one projection (Eq. 8), Q and K normalised
    (Eqs. 17-18)."""

    def __init__(self, channels: int, heads: int, qk_norm: bool):
        super().__init__()
        if channels % heads:
            raise ValueError(f"{heads} heads do not divide {channels} quaternion channels")
        self.heads = heads
        self.qk_norm = qk_norm
        self.linear = QuaternionLinear(channels, 3 * channels)
        self.norm_q = QuaternionRMSNorm(channels // heads) if qk_norm else nn.Identity()
        self.norm_k = QuaternionRMSNorm(channels // heads) if qk_norm else nn.Identity()

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        qkv = self.linear(x).unflatten(-1, (3, self.heads, -1))  # N, L, 4, 3, H, d
        q, k, v = moved(qkv, (3, 0, 4, 1, 2, 5))  # each N, H, L, 4, d
        return self.norm_q(q).flatten(-2), self.norm_k(k).flatten(-2), v.flatten(-2)

    def score_weights(self) -> dict[str, int]:
        """Return the weights that scores are proportional to, and of how many equal parts the first
        one is meant."""
        # Q, then K and V
        return {"norm_q.gain": 1} if self.qk_norm else {"linear.weight": 3, "linear.bias": 3}


def merge_heads(x: Tensor) -> Tensor:
    """Merge heads: (N, H, L, 4d) -> (N, L, 4, H d)."""
    return moved(x.unflatten(-1, (4, -1)), (0, 2, 3, 1, 4)).flatten(-2)


def attend(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, scale: float | None = None
) -> Tensor:
    """Compute scaled dot-product attention, scale 1 / sqrt(width) if None; avoid torch's form where
    it is slow.

    On a CPU bfloat16 is computed in float32, because the gradient in bfloat16 takes twenty times as
    long. In training, few tokens (the bands of a frame) are computed by plain products, which take
    half as long.
    """
    if v.device.type == "cpu" and v.dtype == torch.bfloat16:  # a norm may have promoted q and k
        with torch.autocast("cpu", enabled=False):
            return attend(
                q.float(), k.float(), v.float(), None if mask is None else mask.float(), scale
            )
    if v.requires_grad and mask is None and k.shape[-2] <= FEW_TOKENS:
        return (q * (q.shape[-1] ** -0.5 if scale is None else scale) @ k.mT).softmax(-1) @ v
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale)


class SharedScoreAttention(nn.Module):
    """Attend from every token to all tokens: (N, L, 4, C) -> (N, L, 4, C); no state."""

    quaternion_axis = TOKENS

    def __init__(self, channels: int, heads: int, qk_norm: bool = True):
        super().__init__()
        self.project = Projections(channels, heads, qk_norm)
        self.out = QuaternionLinear(channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(merge_heads(attend(*self.project(x))))


class CausalSharedScoreAttention(TimeMixer):
    """Attend from a frame to itself and the `window` - 1 frames before it: (N, T, 4, C) ->
    (N, T, 4, C).

    Positions are relative: a learned bias per head and distance. State: `keys` and `values` (N, H,
    window - 1, 4d) of the last frames, and `valid` (N, window - 1), 1 for a frame of the input, 0
    before the beginning.
    """

    not_widened = ("bias",)  # a longer window is not more channels

    def __init__(self, channels: int, heads: int, window: int, qk_norm: bool = True):
        super().__init__()
        self.window = window
        self.project = Projections(channels, heads, qk_norm)
        self.out = QuaternionLinear(channels, channels)
        self.bias = nn.Parameter(torch.zeros(heads, window))  # by distance 0 .. window - 1

    @classmethod
    def of_sizes(cls, *, bands: int, channels: int, heads: int, window: int) -> Self:
        return cls(channels, heads, window)

    def forward(
        self, x: Tensor, past: dict[str, Tensor] | None = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        outputs = []
        past = past or {}
        for frames in x.split(FRAMES_AT_ONCE, dim=1):
            y, past = self._frames(frames, past)
            outputs.append(y)
        return torch.cat(outputs, 1), past

    def _frames(self, x: Tensor, past: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        q, k, v = self.project(x)  # N, H, T, 4d
        valid = x.new_ones(x.shape[:2])
        if not past:
            past = self._empty(k, valid)
        # N, H, window - 1 + T, 4d
        k = torch.cat([past["keys"], k], 2)
        v = torch.cat([past["values"], v], 2)
        valid = torch.cat([past["valid"], valid], 1)
        y = self._attend(q, k, v, self._mask(x.shape[1], valid))
        kept = slice(x.shape[1], None)
        return self.out(merge_heads(y)), {
            "keys": k[:, :, kept],
            "values": v[:, :, kept],
            "valid": valid[:, kept],
        }

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        return attend(q, k, v, mask)

    def _empty(self, k: Tensor, valid: Tensor) -> dict[str, Tensor]:
        shape = (*k.shape[:2], self.window - 1, k.shape[3])
        return {
            "keys": k.new_zeros(shape),
            "values": k.new_zeros(shape),
            "valid": valid.new_zeros(valid.shape[0], self.window - 1),
        }

    def _mask(self, frames: int, valid: Tensor) -> Tensor:
        """Return (N, H, T, window - 1 + T): the bias of the distance; -1e4 outside the window or
        before the start."""
        now = torch.arange(frames, device=valid.device)[:, None] + self.window - 1
        # T, window - 1 + T
        distance = now - torch.arange(frames + self.window - 1, device=valid.device)
        inside = (distance >= 0) & (distance < self.window)
        bias = self.bias[:, distance.clamp(0, self.window - 1)]  # H, T, window - 1 + T
        seen = inside * valid[:, None, None, :]
        return bias + (seen - 1) * 1e4

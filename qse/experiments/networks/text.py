"""Text networks of Tay et al. 2019 ("Lightweight and Efficient Neural NLP with Quaternion Networks", sections 3.2-3.5)
and Zhang et al. 2021 (PHM-Transformer, section 4.2): a Transformer that classifies a text, and the attention model that
classifies a pair.

Tokens (N, L) are numbers of words, 0 for padding; hidden vectors (N, L, dim) are read as [r; i; j; k].
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ...config import require_positive
from ...nn.hamilton import component_scores
from ...nn.linear import QuaternionLinear
from ...nn.research.pair_attention import PairAttention
from .flat import flat_linear

ARMS = {  # (algebra of the attention, algebra of the feed-forward layers)
    "real": ("real", "real"),
    "full": ("quaternion", "quaternion"),
    "partial": ("quaternion", "real"),
    "phm": ("phm", "phm"),
}


@dataclass(frozen=True)
class TextConfig:
    """A Transformer encoder; the defaults are Tensor2Tensor's tiny one."""

    arm: str = "full"  # or partial, real, phm
    phm_n: int = 4
    dim: int = 128
    feed: int = 512
    heads: int = 4
    layers: int = 2
    dropout: float = 0.1

    def __post_init__(self) -> None:
        if self.arm not in ARMS:
            raise ValueError(f"arm {self.arm!r}: choose one of {', '.join(ARMS)}")
        require_positive(self, "phm_n", "dim", "feed", "heads", "layers")
        parts = self.heads * (4 if ARMS[self.arm][0] == "quaternion" else 1)
        if self.dim % parts or self.dim % 2:
            raise ValueError(f"dim {self.dim}: must be even and a multiple of {parts} ({self.arm}, {self.heads} heads)")


class TextClassifier(nn.Module):
    """(N, L) tokens -> (N, classes) logits of the mean over tokens."""

    def __init__(self, config: TextConfig, vocabulary: int, classes: int):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, config.dim, padding_idx=0)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.layers))
        self.norm, self.head = nn.LayerNorm(config.dim), nn.Linear(config.dim, classes)

    def forward(self, tokens: Tensor) -> Tensor:
        seen = tokens != 0
        x = self.embedding(tokens) * math.sqrt(self.embedding.embedding_dim)
        x = self.dropout(x + positions(x))
        for layer in self.layers:
            x = layer(x, seen)
        x = self.norm(x) * seen[..., None]
        return self.head(x.sum(1) / seen.sum(1, keepdim=True).clamp_min(1))


def positions(x: Tensor) -> Tensor:
    """(N, L, dim) -> (L, dim): sines and cosines (Vaswani et al. 2017, section 3.5)."""
    _, length, dim = x.shape
    rate = 10000.0 ** (-torch.arange(dim // 2, device=x.device, dtype=x.dtype) / (dim // 2))
    angle = torch.arange(length, device=x.device, dtype=x.dtype)[:, None] * rate
    return torch.cat([angle.sin(), angle.cos()], 1)


class EncoderLayer(nn.Module):
    """x (N, L, dim), seen (N, L) -> (N, L, dim): attention and feed-forward, each behind a norm, beside a residual."""

    def __init__(self, config: TextConfig):
        super().__init__()
        feed = ARMS[config.arm][1]
        self.norm_attention, self.norm_feed = nn.LayerNorm(config.dim), nn.LayerNorm(config.dim)
        self.attention = TextAttention(config)
        self.dropout = nn.Dropout(config.dropout)
        self.feed = nn.Sequential(
            flat_linear(feed, config.dim, config.feed, n=config.phm_n),
            nn.ReLU(),
            nn.Dropout(config.dropout),
            flat_linear(feed, config.feed, config.dim, n=config.phm_n),
        )

    def forward(self, x: Tensor, seen: Tensor) -> Tensor:
        x = x + self.dropout(self.attention(self.norm_attention(x), seen))
        return x + self.dropout(self.feed(self.norm_feed(x)))


class TextAttention(nn.Module):
    """Self-attention: by component, Eq. 4, in quaternion arms; by the real dot product in the others."""

    def __init__(self, config: TextConfig):
        super().__init__()
        algebra = ARMS[config.arm][0]
        self.quaternion, self.heads = algebra == "quaternion", config.heads
        self.parts = 4 if self.quaternion else 1
        self.project = nn.ModuleList(flat_linear(algebra, config.dim, config.dim, n=config.phm_n) for _ in range(3))
        self.out = flat_linear(algebra, config.dim, config.dim, n=config.phm_n)

    def forward(self, x: Tensor, seen: Tensor) -> Tensor:
        q, k, v = (self._heads(linear(x)) for linear in self.project)  # each N, H, L, parts, d
        bias = (~seen[:, None, None, :]).to(x.dtype) * -1e4  # N, 1, 1, L
        if self.quaternion:
            weights = (component_scores(q, k) + bias[:, None]).softmax(-1)
            y = (weights @ v.movedim(-2, 2)).movedim(2, -2)
        else:
            q, k, v = (part[..., 0, :] for part in (q, k, v))
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)[..., None, :]
        return self.out(y.permute(0, 2, 3, 1, 4).flatten(2))  # N, L, dim

    def _heads(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.parts, self.heads, -1)).permute(0, 3, 1, 2, 4)


class PairClassifier(nn.Module):
    """a, b: (N, L) tokens each -> (N, classes): words, a transform into quaternions, `PairAttention`, a real layer."""

    def __init__(self, vocabulary: int, classes: int, embedding: int = 100, channels: int = 50, dropout: float = 0.2):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, embedding, padding_idx=0)
        self.transform = nn.Linear(embedding, 4 * channels)
        self.refine = QuaternionLinear(channels, channels)
        self.attention = PairAttention(channels, channels, dropout)
        self.head = nn.Linear(4 * channels, classes)

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        x, y = (self.refine(torch.relu(self.transform(self.embedding(part))).unflatten(-1, (4, -1))) for part in (a, b))
        return self.head(self.attention(x, y, a != 0, b != 0).flatten(1))

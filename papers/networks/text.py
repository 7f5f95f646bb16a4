"""Text classification network: a Transformer encoder.

Tay et al. 2019 ("Lightweight and Efficient Neural NLP with Quaternion Networks"), sections 3.3 to
3.5; Zhang et al. 2021 (PHM-Transformer), section 4.2; Yamauchi et al. 2026 (shared scores),
appendix E.2. Tokens (N, L) are word numbers, 0 for padding; hidden vectors (N, L, dim) are read as
[r; i; j; k].
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from qse.config import require_positive

from ..nn.hamilton import component_scores
from .count import parameter_count
from .flat import flat_linear

ARMS = {  # (algebra of the attention, algebra of the feed-forward layers)
    "real": ("real", "real"),
    "full": ("quaternion", "quaternion"),
    "partial": ("quaternion", "real"),
    "shared": ("quaternion", "quaternion"),  # one score per pair of tokens in place of four
    "phm": ("phm", "phm"),
}


@dataclass(frozen=True)
class TextConfig:
    """Sizes of a Transformer encoder; the defaults are Tensor2Tensor's `transformer_tiny`."""

    arm: str = "full"  # or partial, shared, real, phm
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
            raise ValueError(
                f"dim {self.dim}: must be even and a multiple of {parts} "
                f"({self.arm}, {self.heads} heads)"
            )


class TextClassifier(nn.Module):
    """Classify a text: tokens (N, L) -> logits (N, classes) of the mean over tokens.

    Embeddings begin with standard deviation dim^-0.5 and are multiplied by sqrt(dim), so that words
    and positions have comparable size.
    """

    def __init__(self, config: TextConfig, vocabulary: int, classes: int):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, config.dim, padding_idx=0)
        nn.init.normal_(self.embedding.weight[1:], std=config.dim**-0.5)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.dim)
        self.head = nn.Linear(config.dim, classes)

    def forward(self, tokens: Tensor) -> Tensor:
        seen = tokens != 0
        x = self.embedding(tokens) * math.sqrt(self.embedding.embedding_dim)
        x = self.dropout(x + positions(x))
        for layer in self.layers:
            x = layer(x, seen)
        x = self.norm(x) * seen[..., None]
        return self.head(x.sum(1) / seen.sum(1, keepdim=True).clamp_min(1))


def matrix_parameters(layers: nn.Module) -> int:
    """Return the number of parameters without those of norms, as the papers' tables count."""
    norms = [part for part in layers.modules() if isinstance(part, nn.LayerNorm)]
    return parameter_count(layers) - parameter_count(*norms)


def positions(x: Tensor) -> Tensor:
    """Return the sines and cosines (L, dim) for x (N, L, dim) (Vaswani et al. 2017, 3.5)."""
    _, length, dim = x.shape
    rate = 10000.0 ** (-torch.arange(dim // 2, device=x.device, dtype=x.dtype) / (dim // 2))
    angle = torch.arange(length, device=x.device, dtype=x.dtype)[:, None] * rate
    return torch.cat([angle.sin(), angle.cos()], 1)


class EncoderLayer(nn.Module):
    """Pre-norm encoder layer: x (N, L, dim), seen (N, L) -> (N, L, dim)."""

    def __init__(self, config: TextConfig):
        super().__init__()
        self.norm_attention = nn.LayerNorm(config.dim)
        self.norm_feed = nn.LayerNorm(config.dim)
        self.attention = TextAttention(config)
        self.dropout = nn.Dropout(config.dropout)
        self.feed = feed_forward(config)

    def forward(self, x: Tensor, seen: Tensor) -> Tensor:
        x = x + self.dropout(self.attention(self.norm_attention(x), seen))
        return x + self.dropout(self.feed(self.norm_feed(x)))


def feed_forward(config: TextConfig) -> nn.Sequential:
    """Build the feed-forward network of a layer: (..., dim) -> the same."""
    algebra = ARMS[config.arm][1]
    return nn.Sequential(
        flat_linear(algebra, config.dim, config.feed, n=config.phm_n),
        nn.ReLU(),
        nn.Dropout(config.dropout),
        flat_linear(algebra, config.feed, config.dim, n=config.phm_n),
    )


class TextAttention(nn.Module):
    """Multi-head self-attention: x (N, L, dim), seen (N, L) or (N, L, L) -> (N, L, dim).

    `seen` is that of `attention_weights`. full, partial: four scores per pair of tokens, Tay et
    al., Eq. 4. shared, real, phm: one, the dot product of the vectors of a head; for `shared` these
    hold whole quaternions (Yamauchi et al., Eqs. 8-13).
    """

    def __init__(self, config: TextConfig):
        super().__init__()
        algebra = ARMS[config.arm][0]
        self.by_component = config.arm in ("full", "partial")
        self.heads = config.heads
        self.parts = 4 if algebra == "quaternion" else 1
        widths = [config.dim] * 3
        if algebra == "phm":
            widths = [3 * config.dim]  # one PHM layer, split (Zhang et al., 4.2)
        self.project = nn.ModuleList(
            flat_linear(algebra, config.dim, width, n=config.phm_n) for width in widths
        )
        self.out = flat_linear(algebra, config.dim, config.dim, n=config.phm_n)

    def forward(self, x: Tensor, seen: Tensor) -> Tensor:
        q, k, v = self.queries_keys_values(x)
        return self.attend_and_merge(q, k, v, seen)

    def queries_keys_values(self, x: Tensor) -> Iterator[Tensor]:
        """Yield q, k, v, each (N, H, L, parts, d), parts = 4 for quaternion arms."""
        yield from self.split(torch.cat([linear(x) for linear in self.project], -1), 3)

    def split(self, x: Tensor, count: int) -> Iterator[Tensor]:
        """Split (N, L, count dim) into `count` tensors and their heads (N, H, L, parts, d)."""
        for part in x.chunk(count, -1):
            yield part.unflatten(-1, (self.parts, self.heads, -1)).permute(0, 3, 1, 2, 4)

    def attend_and_merge(self, q: Tensor, k: Tensor, v: Tensor, seen: Tensor) -> Tensor:
        """Return the output layer's (N, L, dim) of all heads."""
        return self.out(self.attend(q, k, v, seen).permute(0, 2, 3, 1, 4).flatten(2))

    def attend(self, q: Tensor, k: Tensor, v: Tensor, seen: Tensor) -> Tensor:
        """Return the output (N, H, L, parts, d)."""
        scores = component_scores if self.by_component else dot_product_scores
        return weighted_values(scores(q, k), v, seen)


def attention_weights(scores: Tensor, seen: Tensor) -> Tensor:
    """Return the softmax over the keys that are seen: scores (N, H, S, Q, L).

    seen: (N, L), True for a token that is no padding, or (N, Q, L), by query.
    """
    by_query = seen[:, None] if seen.ndim == 2 else seen
    return (scores + (~by_query[:, None, None]).to(scores.dtype) * -1e4).softmax(-1)


def weighted_values(scores: Tensor, v: Tensor, seen: Tensor) -> Tensor:
    """Return the output (N, H, L, parts, d) for scores (N, H, S, L, L).

    S is 1, or the number of parts of v.
    """
    return (attention_weights(scores, seen) @ v.movedim(-2, 2)).movedim(2, -2)


def dot_product_scores(q: Tensor, k: Tensor) -> Tensor:
    """Return q k^T / sqrt(parts d): (N, H, L, parts, d) twice -> (N, H, 1, L, L)."""
    size = q.shape[-2] * q.shape[-1]
    return (q.flatten(-2) @ k.flatten(-2).mT)[:, :, None] / math.sqrt(size)

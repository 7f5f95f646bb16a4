"""Byte-level language models: the standard Transformer, Q-Linear, Q-Mamba and Q-Jamba.

"Q-Jamba: Quaternion-Native Hybrid State-Space Language Models", section 3 and Table 4. Tokens
(N, T), hidden vectors (N, T, dim), read as [r; i; j; k] where a layer is quaternion. A layer is a
mixer over time (A attention, M state space) and a SwiGLU, each after a norm and with a residual.

The parameter counts of Table 4 determine what the text leaves open: attention has biases and SwiGLU
has none, the head is not tied to the embedding, positions have no parameters (here: rotary), the
norms of the quaternion arms have a gain and a bias, and the state space has five square projections
and a depthwise convolution, all with biases.
"""

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..nn.ssm import QuaternionSSM
from .count import parameter_count
from .flat import flat_linear


@dataclass(frozen=True)
class LanguageConfig:
    """Sizes and dropout; `pattern` has one letter per layer, `dim` and `feed` count reals.

    coupled: False for block-diagonal weights in place of Hamilton's, in a network of attention
    alone.
    """

    pattern: str = "MMAMMA"
    quaternion: bool = True
    dim: int = 192
    feed: int = 512
    heads: int = 4
    vocabulary: int = 256
    scan_dropout: float = 0.0
    gate_dropout: float = 0.0
    feed_dropout: float = 0.0
    embedding_dropout: float = 0.0
    coupled: bool = True

    @property
    def algebra(self) -> str:
        if not self.quaternion:
            return "real"
        return "quaternion" if self.coupled else "block-diagonal"

    def __post_init__(self) -> None:
        if set(self.pattern) - set("AM") or ("M" in self.pattern and not self.quaternion):
            raise ValueError(
                f"pattern {self.pattern!r}: letters A, and M where the network is quaternion"
            )
        if "M" in self.pattern and not self.coupled:
            raise ValueError(
                f"pattern {self.pattern!r}: the state space M has no block-diagonal form"
            )


# Table 2, C1
REGULARISED: dict[str, Any] = {
    "scan_dropout": 0.2,
    "gate_dropout": 0.1,
    "feed_dropout": 0.1,
    "embedding_dropout": 0.1,
}
ARMS = {  # Table 4
    "A0": LanguageConfig("AAAA", quaternion=False),
    "A1": LanguageConfig("AAAA"),
    "A2": LanguageConfig("MMAMMA", **REGULARISED),
    "A3": LanguageConfig("MMMM", **REGULARISED),
    "A4": LanguageConfig("MMMAMM", **REGULARISED),
    "A5": LanguageConfig("AAA", quaternion=False, dim=128, feed=256),
}
CONTROLS = {"B1": LanguageConfig("AAAA", coupled=False)}  # section 6.3: A1 without coupling
# parameters
TABLE_4 = {
    "A0": 1_872_576,
    "A1": 547_200,
    "A2": 812_928,
    "A3": 588_672,
    "A4": 823_296,
    "A5": 559_488,
}


def scaled(config: LanguageConfig, width: float) -> LanguageConfig:
    """Return `config` with dim and feed times `width`, with whole quaternions in every head."""
    unit = 8 * config.heads

    def rounded(size: int) -> int:
        return max(unit, round(size * width / unit) * unit)

    return replace(config, dim=rounded(config.dim), feed=rounded(config.feed))


def count(arm: str) -> int:
    """Return the number of parameters of an arm's network."""
    with torch.device("meta"):
        return parameter_count(Language(ARMS[arm]))


class Language(nn.Module):
    """Predict the next byte: (N, T) bytes -> logits (N, T, vocabulary)."""

    def __init__(self, config: LanguageConfig):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocabulary, config.dim)
        nn.init.normal_(self.embedding.weight, std=0.02)
        self.dropout = nn.Dropout(config.embedding_dropout)
        self.layers = nn.ModuleList(Layer(config, letter) for letter in config.pattern)
        self.norm = RMSNorm(config.dim, config.quaternion)
        self.head = nn.Linear(config.dim, config.vocabulary, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.dropout(self.embedding(tokens))
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


class RMSNorm(nn.Module):
    """Divide (..., dim) by the RMS of the real vector; gain and, in quaternion arms, bias."""

    def __init__(self, dim: int, bias: bool):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        y = F.rms_norm(x, x.shape[-1:], self.gain, 1e-6)
        return y if self.bias is None else y + self.bias


class Layer(nn.Module):
    """(N, T, dim) -> the same."""

    def __init__(self, config: LanguageConfig, letter: str):
        super().__init__()
        self.norm_mixer = RMSNorm(config.dim, config.quaternion)
        self.norm_feed = RMSNorm(config.dim, config.quaternion)
        self.mixer = CausalAttention(config) if letter == "A" else StateSpace(config)
        self.feed = SwiGLU(config)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.mixer(self.norm_mixer(x))
        return x + self.feed(self.norm_feed(x))


class StateSpace(nn.Module):
    """The mixer of Q-Mamba on real vectors."""

    def __init__(self, config: LanguageConfig):
        super().__init__()
        self.ssm = QuaternionSSM(
            config.dim // 4, scan_dropout=config.scan_dropout, gate_dropout=config.gate_dropout
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.ssm(x.unflatten(-1, (4, -1)))[0].flatten(-2)


class CausalAttention(nn.Module):
    """Causal multi-head attention; a head of a quaternion arm holds whole quaternions."""

    def __init__(self, config: LanguageConfig):
        super().__init__()
        self.heads = config.heads
        self.parts = 4 if config.quaternion else 1
        self.project = flat_linear(config.algebra, config.dim, 3 * config.dim)
        self.out = flat_linear(config.algebra, config.dim, config.dim)

    def forward(self, x: Tensor) -> Tensor:
        qkv = self.project(x).unflatten(-1, (self.parts, 3, self.heads, -1))  # N, T, parts, 3, H, d
        q, k, v = qkv.permute(3, 0, 4, 1, 2, 5).flatten(-2)  # each N, H, T, parts d
        y = F.scaled_dot_product_attention(rotary(q), rotary(k), v, is_causal=True)
        return self.out(y.unflatten(-1, (self.parts, -1)).permute(0, 2, 3, 1, 4).flatten(2))


def rotary(x: Tensor, base: float = 10000.0) -> Tensor:
    """Rotate the pairs (i, i + D / 2) of (N, H, T, D) by t base^(-2 i / D) (Su et al. 2021)."""
    half = x.shape[-1] // 2
    rate = base ** (-torch.arange(half, device=x.device, dtype=x.dtype) / half)
    angle = torch.arange(x.shape[-2], device=x.device, dtype=x.dtype)[:, None] * rate  # T, D / 2
    a, b = x.split(half, -1)
    return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)


class SwiGLU(nn.Module):
    """down(silu(gate(x)) * up(x)), without biases."""

    def __init__(self, config: LanguageConfig):
        super().__init__()
        self.both = flat_linear(config.algebra, config.dim, 2 * config.feed, bias=False)
        self.down = flat_linear(config.algebra, config.feed, config.dim, bias=False)
        self.dropout = nn.Dropout(config.feed_dropout)
        self.parts = 4 if config.quaternion else 1

    def forward(self, x: Tensor) -> Tensor:
        both = self.both(x).unflatten(-1, (self.parts, 2, -1))
        gate, up = both.unbind(-2)  # each N, T, parts, feed / parts
        return self.down(self.dropout((F.silu(gate) * up).flatten(-2)))

"""Sequence-to-sequence Transformer over real numbers, quaternions or PHM layers.

Zhang et al. 2021, section 4.2; Tay et al. 2019, section 3.3. Tokens (N, L): 0 for padding, END
begins and ends a target. Source and target share one embedding, which is also the output layer, as
in Tensor2Tensor.
"""

import math

import torch
from torch import Tensor, nn

from .flat import flat_linear
from .text import ARMS, EncoderLayer, TextAttention, TextConfig, feed_forward, positions

END = 1


class SourceAttention(TextAttention):
    """Attention of the target x (N, T, dim) to the encoded source (N, S, dim) -> (N, T, dim).

    seen (N, S). PHM: one layer for the queries and one for keys and values. Without a source, x
    attends to itself.
    """

    def __init__(self, config: TextConfig):
        super().__init__(config)
        if ARMS[config.arm][0] == "phm":
            widths = (config.dim, 2 * config.dim)
            self.project = nn.ModuleList(
                flat_linear("phm", config.dim, width, n=config.phm_n) for width in widths
            )

    def forward(self, x: Tensor, seen: Tensor, source: Tensor | None = None) -> Tensor:
        queries, *others = self.project
        attended = x if source is None else source
        (q,) = self.split(queries(x), 1)
        k, v = self.split(torch.cat([linear(attended) for linear in others], -1), 2)
        return self.attend_and_merge(q, k, v, seen)


class DecoderLayer(nn.Module):
    """Pre-norm decoder layer: x (N, T, dim) -> the same.

    It is given the causal mask of x (N, T, T), the source (N, S, dim), and what is seen of it (N,
    S).
    """

    def __init__(self, config: TextConfig):
        super().__init__()
        self.norm_self = nn.LayerNorm(config.dim)
        self.norm_source = nn.LayerNorm(config.dim)
        self.norm_feed = nn.LayerNorm(config.dim)
        self.attention = TextAttention(config)
        self.source = SourceAttention(config)
        self.feed = feed_forward(config)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, mask: Tensor, source: Tensor, seen: Tensor) -> Tensor:
        x = x + self.dropout(self.attention(self.norm_self(x), mask))
        x = x + self.dropout(self.source(self.norm_source(x), seen, source))
        return x + self.dropout(self.feed(self.norm_feed(x)))


class Transducer(nn.Module):
    """source (N, S), target (N, T) -> logits (N, T, vocabulary) of the next token of the target."""

    def __init__(self, config: TextConfig, vocabulary: int):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, config.dim, padding_idx=0)
        nn.init.normal_(self.embedding.weight[1:], std=config.dim**-0.5)
        self.dropout = nn.Dropout(config.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.layers))
        self.norm_source = nn.LayerNorm(config.dim)
        self.norm = nn.LayerNorm(config.dim)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return self.decode(self.encode(source), source != 0, target)

    def encode(self, source: Tensor) -> Tensor:
        """Return the encoded source (N, S, dim)."""
        x = self._embedded(source)
        for layer in self.encoder:
            x = layer(x, source != 0)
        return self.norm_source(x)

    def decode(self, encoded: Tensor, seen: Tensor, target: Tensor) -> Tensor:
        """Return the logits for a target, given the encoded source and what is seen of it."""
        x = self._embedded(target)
        length = target.shape[1]
        causal = torch.ones(length, length, dtype=torch.bool, device=target.device).tril()
        mask = causal.expand(len(target), length, length)
        for layer in self.decoder:
            x = layer(x, mask, encoded, seen)
        return self.norm(x) @ self.embedding.weight.T

    def _embedded(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens) * math.sqrt(self.embedding.embedding_dim)
        return self.dropout(x + positions(x))


@torch.no_grad()
def greedy(network: Transducer, source: Tensor, length: int) -> list[list[int]]:
    """Return the most likely token by token for each source, at most `length`, without END."""
    network.eval()
    encoded = network.encode(source)
    seen = source != 0
    target = source.new_full((len(source), 1), END)
    ended = torch.zeros_like(target[:, 0], dtype=torch.bool)
    while target.shape[1] <= length and not ended.all():
        following = network.decode(encoded, seen, target)[:, -1].argmax(-1)
        target = torch.cat([target, following[:, None]], 1)
        ended |= following == END
    network.train()
    rows: list[list[int]] = []
    for _, *row in target.tolist():
        rows.append(row[: row.index(END)] if END in row else row)
    return rows

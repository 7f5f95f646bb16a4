"""Classifiers of a pair of texts: Hamilton-product attention, decomposable attention, and PHM-LSTM encoders.

Tay et al. 2019, sections 3.2, 3.4 and 4.1 (Q-Att, DeAtt); Zhang et al. 2021, sections 4.1, 5.1 and appendix B.1
(PHM-LSTM). Tokens a, b (N, L) are word numbers, 0 for padding.
"""

import torch
from torch import Tensor, nn

from ...nn.research.hypercomplex import HypercomplexLSTM, hamilton_rule
from ...nn.research.pair_attention import PairAttention


class PairClassifier(nn.Module):
    """Classify a pair of texts: tokens a, b (N, L) -> logits (N, classes) (Tay et al., section 3.2).

    Word embeddings go through a non-linear transform into quaternions (section 3.4), then `PairAttention`.
    """

    def __init__(
        self,
        vocabulary: int,
        classes: int,
        embedding: int = 100,
        channels: int = 50,
        dropout: float = 0.2,
    ):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, embedding, padding_idx=0)
        self.transform = nn.Linear(embedding, 4 * channels)
        self.attention = PairAttention(channels, channels, dropout)
        self.head = nn.Linear(4 * channels, classes)

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        x, y = (
            torch.relu(self.transform(self.embedding(part))).unflatten(-1, (4, -1))
            for part in (a, b)
        )
        return self.head(self.attention(x, y, a != 0, b != 0).flatten(1))


class DecomposableClassifier(nn.Module):
    """DeAtt: the same in real numbers (N, L) twice -> (N, classes), with [a; b'; a * b'; a - b'] before comparing."""

    def __init__(
        self,
        vocabulary: int,
        classes: int,
        embedding: int = 100,
        dim: int = 200,
        dropout: float = 0.2,
    ):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, embedding, padding_idx=0)
        self.transform = nn.Linear(embedding, dim)
        self.compare, self.aggregate = (
            nn.Sequential(nn.Dropout(dropout), nn.Linear(4 * dim, dim), nn.ReLU()) for _ in range(2)
        )
        self.head = nn.Linear(dim, classes)

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        x, y = (torch.relu(self.transform(self.embedding(part))) for part in (a, b))
        scores = x @ y.mT  # N, La, Lb
        beta = scores.masked_fill((b == 0)[:, None], -1e4).softmax(-1) @ y
        alpha = scores.mT.masked_fill((a == 0)[:, None], -1e4).softmax(-1) @ x
        c1 = (self.compare(_matched(alpha, y)) * (b != 0)[..., None]).sum(1)
        c2 = (self.compare(_matched(beta, x)) * (a != 0)[..., None]).sum(1)
        return self.head(self.aggregate(_matched(c1, c2)))


class LstmClassifier(nn.Module):
    """Encode each text with one PHM-LSTM as wide as the embedding; classify [max; mean] of both: (N, classes).

    n = 1 is the real LSTM. hamilton: n = 4 with the fixed rule of quaternions. A perceptron of two layers follows.
    """

    def __init__(self, vocabulary: int, classes: int, dim: int, n: int = 1, hamilton: bool = False):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, dim, padding_idx=0)
        self.lstm = HypercomplexLSTM(n, dim, dim, hamilton_rule() if hamilton else None)
        self.head = nn.Sequential(nn.Linear(4 * dim, dim), nn.ReLU(), nn.Linear(dim, classes))

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return self.head(torch.cat([self._encoded(a), self._encoded(b)], -1))

    def _encoded(self, tokens: Tensor) -> Tensor:
        y, seen = self.lstm(self.embedding(tokens))[0], (tokens != 0)[..., None]
        mean = (y * seen).sum(1) / seen.sum(1)
        return torch.cat(
            [y.masked_fill(~seen, -2.0).amax(1), mean], -1
        )  # an LSTM's values lie above -1


def _matched(x: Tensor, y: Tensor) -> Tensor:
    return torch.cat([x, y, x * y, x - y], -1)

"""Classifiers of a pair of texts.

Hamilton-product attention and decomposable attention (Tay et al. 2019, sections 3.2, 3.4 and 4.1:
Q-Att, DeAtt); PHM-LSTM encoders (Zhang et al. 2021, sections 4.1, 5.1 and appendix B.1). Tokens a,
b (N, L) are word numbers, 0 for padding.
"""

import torch
from torch import Tensor, nn

from .hypercomplex import HypercomplexLSTM, hamilton_rule
from .pair_attention import PairAttention


class PairClassifier(nn.Module):
    """Classify a pair of texts: tokens a, b (N, L) -> logits (N, classes) (Tay et al., 3.2).

    Word embeddings go through a non-linear transform into quaternions (section 3.4), then
    `PairAttention`.
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
        y = self.attention(self._quaternions(a), self._quaternions(b), a != 0, b != 0)
        return self.head(y.flatten(1))

    def _quaternions(self, tokens: Tensor) -> Tensor:
        return torch.relu(self.transform(self.embedding(tokens))).unflatten(-1, (4, -1))


class DecomposableClassifier(nn.Module):
    """DeAtt: the same in real numbers, (N, L) twice -> (N, classes).

    Compared are [a; b'; a * b'; a - b'].
    """

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
        self.compare = _perceptron(dim, dropout)
        self.aggregate = _perceptron(dim, dropout)
        self.head = nn.Linear(dim, classes)

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        x = torch.relu(self.transform(self.embedding(a)))
        y = torch.relu(self.transform(self.embedding(b)))
        scores = x @ y.mT  # N, La, Lb
        beta = scores.masked_fill((b == 0)[:, None], -1e4).softmax(-1) @ y
        alpha = scores.mT.masked_fill((a == 0)[:, None], -1e4).softmax(-1) @ x
        c1 = (self.compare(_matched(alpha, y)) * (b != 0)[..., None]).sum(1)
        c2 = (self.compare(_matched(beta, x)) * (a != 0)[..., None]).sum(1)
        return self.head(self.aggregate(_matched(c1, c2)))


class LstmClassifier(nn.Module):
    """Encode each text with a PHM-LSTM; classify [max; mean] of both: (N, classes).

    The LSTM is as wide as the embedding; a perceptron of two layers follows. n = 1 is the real
    LSTM. hamilton: n = 4 with the fixed rule of quaternions.
    """

    def __init__(self, vocabulary: int, classes: int, dim: int, n: int = 1, hamilton: bool = False):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, dim, padding_idx=0)
        self.lstm = HypercomplexLSTM(n, dim, dim, hamilton_rule() if hamilton else None)
        self.head = nn.Sequential(nn.Linear(4 * dim, dim), nn.ReLU(), nn.Linear(dim, classes))

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return self.head(torch.cat([self._encoded(a), self._encoded(b)], -1))

    def _encoded(self, tokens: Tensor) -> Tensor:
        y, _ = self.lstm(self.embedding(tokens))
        seen = (tokens != 0)[..., None]
        mean = (y * seen).sum(1) / seen.sum(1)
        largest = y.masked_fill(~seen, -2.0).amax(1)  # an LSTM's values lie above -1
        return torch.cat([largest, mean], -1)


def _perceptron(dim: int, dropout: float) -> nn.Sequential:
    return nn.Sequential(nn.Dropout(dropout), nn.Linear(4 * dim, dim), nn.ReLU())


def _matched(x: Tensor, y: Tensor) -> Tensor:
    return torch.cat([x, y, x * y, x - y], -1)

"""Textual entailment of sentence pairs, SNLI (Tay et al. 2019, section 4.1, Table 1), by Hamilton-product attention.

`train` and `valid` are SNLI files. Words are learned from the pairs alone, not from GloVe.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import torch

from ..errors import UsageError
from .classify import Examples, train_classifier
from .networks.text import PairClassifier
from .results import plot_curves, write_table
from .words import INFERENCE, Vocabulary, read_snli


@dataclass(frozen=True)
class Pairs:
    """Settings; FULL holds those of the paper."""

    train: str = ""
    valid: str = ""
    channels: int = 20
    embedding: int = 100
    vocabulary: int = 20000
    length: int = 40
    epochs: int = 2
    batch: int = 64
    learning_rate: float = 1e-3
    seed: int = 0

    FULL: ClassVar[dict] = {"channels": 50, "embedding": 300, "epochs": 20, "learning_rate": 3e-4}

    def run(self, out: Path) -> str:
        if not (self.train and self.valid):
            raise UsageError("pairs needs text: --set train=snli_1.0_train.jsonl --set valid=snli_1.0_dev.jsonl")
        train, valid = (read_snli(Path(path)) for path in (self.train, self.valid))
        words = Vocabulary([*train[0], *train[1]], self.vocabulary)
        torch.manual_seed(self.seed)
        network = PairClassifier(len(words), len(INFERENCE), self.embedding, self.channels)
        optimizer = torch.optim.Adam(network.parameters(), self.learning_rate)
        examples = self._examples(train, words), self._examples(valid, words)
        rows = train_classifier(network, *examples, optimizer, epochs=self.epochs, batch=self.batch)
        rows = [{"network": "Q-Att"} | row for row in rows]
        write_table(out / "pairs.csv", rows)
        plot_curves(out / "pairs.png", rows, x="epoch", y="accuracy", by="network")
        return f"Q-Att: {max(row['accuracy'] for row in rows):.1%} of {len(valid[2])} pairs"

    def _examples(self, pairs: tuple[list[str], list[str], list[int]], words: Vocabulary) -> Examples:
        first, second, labels = pairs
        return [words.encode(first, self.length), words.encode(second, self.length)], torch.tensor(labels)

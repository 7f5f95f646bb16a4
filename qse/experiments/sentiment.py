"""Sentiment of sentences (Tay et al. 2019, section 4.2, Table 2): the Transformer in real numbers, with quaternion
attention (partial), in quaternions throughout (full), and with PHM layers. `train` and `valid` are files of SST-2."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch

from ..errors import UsageError
from .classify import train_classifier
from .networks.text import TextClassifier, TextConfig
from .results import Row, plot_curves, write_table
from .words import Vocabulary, read_sst2


@dataclass(frozen=True)
class Sentiment:
    """The settings; the paper's in FULL."""

    train: str = ""
    valid: str = ""
    arms: tuple[str, ...] = ("real", "partial", "full", "phm")
    phm_n: int = 4
    dim: int = 64
    feed: int = 256
    heads: int = 4
    layers: int = 2
    vocabulary: int = 8000
    length: int = 64
    epochs: int = 3
    batch: int = 32
    learning_rate: float = 1e-3
    seed: int = 0

    FULL: ClassVar[dict] = {"dim": 128, "feed": 512, "epochs": 20, "learning_rate": 3e-4}

    def __post_init__(self) -> None:
        for arm in self.arms:
            self._network(arm, 2)

    def run(self, out: Path) -> str:
        if not (self.train and self.valid):
            raise UsageError("sentiment needs text: --set train=SST-2/train.tsv --set valid=SST-2/dev.tsv")
        (texts, labels), (held, held_labels) = (read_sst2(Path(path)) for path in (self.train, self.valid))
        words = Vocabulary(texts, self.vocabulary)
        train = ([words.encode(texts, self.length)], torch.tensor(labels))
        valid = ([words.encode(held, self.length)], torch.tensor(held_labels))
        rows, best = list[Row](), list[str]()
        for arm in self.arms:
            torch.manual_seed(self.seed)
            network = self._network(arm, len(words))
            params = sum(parameter.numel() for parameter in network.layers.parameters())
            settings: dict[str, Any] = {"epochs": self.epochs, "batch": self.batch, "learning_rate": self.learning_rate}
            found = train_classifier(network, train, valid, **settings)
            rows += [{"arm": arm, "params": params} | row for row in found]
            write_table(out / "sentiment.csv", rows)
            best.append(f"{arm} {max(row['accuracy'] for row in found):.1%} ({params:,} parameters without embedding)")
        plot_curves(out / "sentiment.png", rows, x="epoch", y="accuracy", by="arm")
        return "; ".join(best)

    def _network(self, arm: str, vocabulary: int) -> TextClassifier:
        config = TextConfig(arm, self.phm_n, self.dim, self.feed, self.heads, self.layers)
        return TextClassifier(config, vocabulary, 2)

"""Sentiment of sentences, SST-2 (Tay et al. 2019, section 4.2, Table 2; Yamauchi et al. 2026, appendix E.2, Table 15).

Compares Transformer encoders: real; quaternion attention (partial); quaternions throughout (full); the same with shared
scores (shared); PHM layers (phm). `train` and `valid` are SST-2 files.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import mean, stdev
from typing import ClassVar

import torch
from torch import Tensor

from ..errors import UsageError
from ..runtime.timing import race
from .classify import Examples, train_classifier
from .networks.text import TextClassifier, TextConfig
from .results import Row, plot_curves, write_markdown, write_table
from .words import Vocabulary, read_sst2


@dataclass(frozen=True)
class Sentiment:
    """Settings; FULL holds those of appendix E.2, with Tensor2Tensor's sizes where it gives none.

    AdamW with a cosine schedule; `warmup` is the share of the steps in which the rate rises.
    """

    train: str = ""
    valid: str = ""
    arms: tuple[str, ...] = ("real", "partial", "full", "shared", "phm")
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
    warmup: float = 0.05
    latency_seconds: float = 1.0  # of timing, for each arm
    seeds: tuple[int, ...] = (0,)

    FULL: ClassVar[dict] = {"dim": 128, "feed": 512, "epochs": 20, "learning_rate": 3e-4, "seeds": [0, 1, 2]}

    def __post_init__(self) -> None:
        for arm in self.arms:
            self.network(arm, 2)

    def run(self, out: Path) -> str:
        words, train, valid = self.examples()
        rows, networks = list[Row](), dict[str, TextClassifier]()
        for seed in self.seeds:
            for arm in self.arms:
                torch.manual_seed(seed)
                networks[arm] = self.network(arm, words)
                rows += [{"arm": arm, "seed": seed} | row for row in self.fit(networks[arm], train, valid)]
                write_table(out / "sentiment.csv", rows)
        table = self._summary(rows, networks, valid[0][0][: self.batch])
        write_markdown(out / "sentiment.md", table)
        first = [row for row in rows if row["seed"] == self.seeds[0]]
        plot_curves(out / "sentiment.png", first, x="epoch", y="accuracy", by="arm")
        return "; ".join(
            f"{row['arm']} {row['accuracy %']} % ({row['parameters']:,} parameters without embedding)" for row in table
        )

    def examples(self) -> tuple[int, Examples, Examples]:
        """Read the texts; return the number of words, training and validation examples. UsageError without files."""
        if not (self.train and self.valid):
            raise UsageError("this needs text: --set train=SST-2/train.tsv --set valid=SST-2/dev.tsv")
        (texts, labels), (held, held_labels) = (read_sst2(Path(path)) for path in (self.train, self.valid))
        words = Vocabulary(texts, self.vocabulary)
        train = ([words.encode(texts, self.length)], torch.tensor(labels))
        valid = ([words.encode(held, self.length)], torch.tensor(held_labels))
        return len(words), train, valid

    def network(self, arm: str, vocabulary: int) -> TextClassifier:
        """Build the untrained network of an arm."""
        config = TextConfig(arm, self.phm_n, self.dim, self.feed, self.heads, self.layers)
        return TextClassifier(config, vocabulary, 2)

    def fit(self, network: TextClassifier, train: Examples, valid: Examples) -> list[Row]:
        """Train a network; return a row per epoch."""
        optimizer = torch.optim.AdamW(network.parameters(), self.learning_rate)
        sizes: Row = {"epochs": self.epochs, "batch": self.batch}
        return train_classifier(network, train, valid, optimizer, warmup=self.warmup, **sizes)

    def _summary(self, rows: list[Row], networks: dict[str, TextClassifier], tokens: Tensor) -> list[Row]:
        """Return a row per arm: best accuracy of each seed as mean and standard deviation, latency of a batch."""
        with torch.inference_mode():
            calls = {arm: partial(network.eval(), tokens) for arm, network in networks.items()}
            times = race(calls, self.latency_seconds)
        table = []
        for arm, network in networks.items():
            runs = [[r["accuracy"] for r in rows if (r["arm"], r["seed"]) == (arm, seed)] for seed in self.seeds]
            best = [100 * max(accuracies) for accuracies in runs]
            table.append(
                {
                    "arm": arm,
                    "parameters": sum(parameter.numel() for parameter in network.layers.parameters()),
                    "accuracy %": f"{mean(best):.2f}" + (f" ± {stdev(best):.2f}" if len(best) > 1 else ""),
                    "latency ms / batch": f"{1000 * times[arm].median:.2f}",
                }
            )
        return table

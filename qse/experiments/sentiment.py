"""Sentiment of sentences, SST-2 (Tay et al. 2019, section 4.2, Table 2; Yamauchi et al. 2026, appendix E.2, Table 15).

Compares Transformer encoders: quaternions throughout with shared scores (shared) and with Hamilton attention (full);
real; quaternion attention alone (partial); PHM layers (phm). `train` and `valid` are SST-2 files.
"""

from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import ClassVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from ..errors import QseError, UsageError
from ..runtime.timing import race
from .classify import Examples, train_classifier, trimmed
from .networks.text import TextClassifier, TextConfig
from .results import Row, plot_seeds, write_markdown, write_table
from .study import of_arm, run_all, spread
from .words import Vocabulary, read_sst2

NAMES = {"full": "full (Hamilton)"}
PAPER = {
    "shared": (81.04, 0.30, 2.87),
    "full": (81.12, 0.70, 3.92),
}  # Table 15: accuracy, its deviation, latency in ms


@dataclass(frozen=True)
class Sentiment:
    """Settings; FULL trains longer. Sizes are such that `full` has the 100,000 parameters of appendix E.2.

    AdamW with a cosine schedule; `warmup` is the share of the steps in which the rate rises. The accuracy is that of
    the last epoch. `out` holds the trained networks, so that an interrupted experiment continues.
    """

    train: str = ""
    valid: str = ""
    arms: tuple[str, ...] = ("shared", "full", "real")
    phm_n: int = 4
    dim: int = 128
    feed: int = 512
    heads: int = 4
    layers: int = 2
    vocabulary: int = 8000
    length: int = 64
    epochs: int = 1
    batch: int = 32
    learning_rate: float = 5e-4
    warmup: float = 0.05
    latency_seconds: float = 2.0  # of timing, for each arm
    seeds: tuple[int, ...] = (0, 1, 2)

    FULL: ClassVar[dict] = {"epochs": 20, "learning_rate": 3e-4}

    def __post_init__(self) -> None:
        for arm in self.arms:
            self.network(arm, 2)

    def run(self, out: Path) -> str:
        rows, curves = self._runs(out)
        latency = self._latency(out)
        table = [self._summary(arm, rows, latency) for arm in self.arms]
        write_table(out / "sentiment.csv", table)
        write_table(out / "sentiment-curves.csv", curves)
        ratio = _ratio(latency)
        write_markdown(out / "sentiment.md", table, *([ratio] if ratio else []), NOTE.format(self))
        points = {NAMES.get(arm, arm): of_arm(rows, arm, "accuracy %") for arm in self.arms}
        paper = {NAMES.get(arm, arm): PAPER[arm][0] for arm in self.arms if arm in PAPER}
        plot_seeds(out / "sentiment.png", points, paper, "accuracy on the development set, %")
        results = (
            f"{row['arm']} {row['accuracy %']} % ({row['parameters']:,} parameters)"
            for row in table
        )
        return "; ".join([*results, *([ratio] if ratio else [])])

    def trained(self, out: Path) -> dict[tuple[str, int], TextClassifier]:
        """Train what `out` does not hold; return the networks by arm and seed."""
        self._runs(out)
        return {(arm, seed): self._load(out, arm, seed) for seed in self.seeds for arm in self.arms}

    def examples(self) -> tuple[int, Examples, Examples]:
        """Read the texts; return the number of words, training and validation examples. UsageError without files."""
        if not (self.train and self.valid):
            raise UsageError(
                "this needs text: --set train=SST-2/train.tsv --set valid=SST-2/dev.tsv"
            )
        return self._examples

    @cached_property
    def _examples(self) -> tuple[int, Examples, Examples]:
        (texts, labels), (held, held_labels) = (
            read_sst2(Path(path)) for path in (self.train, self.valid)
        )
        words = Vocabulary(texts, self.vocabulary)
        train = ([words.encode(texts, self.length)], torch.tensor(labels))
        valid = ([words.encode(held, self.length)], torch.tensor(held_labels))
        return len(words), train, valid

    def network(self, arm: str, vocabulary: int) -> TextClassifier:
        """Build the untrained network of an arm."""
        config = TextConfig(arm, self.phm_n, self.dim, self.feed, self.heads, self.layers)
        return TextClassifier(config, vocabulary, 2)

    def _runs(self, out: Path) -> tuple[list[Row], list[Row]]:
        def train(arm: str, seed: int, title: str) -> tuple[Row, list[Row]]:
            torch.manual_seed(seed)
            network = self.network(arm, words)
            optimizer = torch.optim.AdamW(network.parameters(), self.learning_rate)
            sizes: Row = {"epochs": self.epochs, "batch": self.batch}
            rows = train_classifier(
                network, texts, held, optimizer, warmup=self.warmup, title=title, **sizes
            )
            save_file(network.state_dict(), _weights(out, arm, seed))
            curve = [
                {"epoch": r["epoch"], "loss": r["loss"], "accuracy %": 100 * r["accuracy"]}
                for r in rows
            ]
            parameters = sum(parameter.numel() for parameter in network.layers.parameters())
            return {"accuracy %": curve[-1]["accuracy %"], "parameters": parameters}, curve

        words, texts, held = self.examples()
        return run_all(out / "sentiment-runs.json", self, train)

    def _load(self, out: Path, arm: str, seed: int) -> TextClassifier:
        network, path = self.network(arm, self.examples()[0]), _weights(out, arm, seed)
        try:
            network.load_state_dict(load_file(path))
        except (OSError, RuntimeError, SafetensorError) as error:
            cure = f"delete {out / 'sentiment-runs.json'} to train again"
            raise QseError(f"{path}: cannot read this network; {cure}") from error
        return network.eval()

    @torch.inference_mode()
    def _latency(self, out: Path) -> dict[str, float]:
        """Return the median time in ms of a batch of sentences for each arm; the arms take turns."""
        tokens = trimmed(self.examples()[2][0][0][: self.batch])
        calls = {arm: partial(self._load(out, arm, self.seeds[0]), tokens) for arm in self.arms}
        return {
            arm: 1000 * times.median for arm, times in race(calls, self.latency_seconds).items()
        }

    def _summary(self, arm: str, rows: list[Row], latency: dict[str, float]) -> Row:
        """Return the row of Table 15 of an arm, with the paper's values."""
        accuracy, deviation, milliseconds = PAPER.get(arm, (None, None, None))
        return {
            "arm": NAMES.get(arm, arm),
            "parameters": of_arm(rows, arm, "parameters")[0],
            "accuracy %": spread(of_arm(rows, arm, "accuracy %")),
            "paper accuracy %": f"{accuracy:.2f} ± {deviation:.2f}" if accuracy else "",
            "latency ms / batch": f"{latency[arm]:.2f}",
            "paper latency ms": f"{milliseconds:.2f}" if milliseconds else "",
        }


def _weights(out: Path, arm: str, seed: int) -> Path:
    return out / f"sentiment-{arm}-{seed}.safetensors"


def _ratio(latency: dict[str, float]) -> str:
    """Return a sentence with the time of shared scores over that of Hamilton attention, if both are there."""
    if not {"shared", "full"} <= latency.keys():
        return ""
    paper = PAPER["shared"][2] / PAPER["full"][2]
    return (
        f"latency shared / Hamilton {latency['shared'] / latency['full']:.2f} (paper {paper:.2f})"
    )


NOTE = (
    "Parameters without embedding, final norm and classifier. Accuracy: mean ± standard deviation over seeds "
    "{0.seeds}, last of {0.epochs} epochs, batch {0.batch}, learning rate {0.learning_rate}. Latency: median time "
    "of a batch of {0.batch} sentences on a CPU; the paper's is that of a GPU that it does not name for this table."
)

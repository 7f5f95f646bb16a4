"""Sentiment of sentences, SST-2.

Tay et al. 2019, section 4.2, Table 2; Yamauchi et al. 2026, appendix E.2, Table 15. Compares
Transformer encoders: quaternions throughout with shared scores (shared) and with Hamilton attention
(full); real; quaternion attention alone (partial); PHM layers (phm). `train` and `valid` are SST-2
files.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save

from qse.audio.atomic_write import atomic_path
from qse.errors import QseError, UsageError
from qse.runtime.timing import race

from .base import OnDevice
from .classify import Examples, train_classifier, trimmed
from .networks.count import parameter_count
from .networks.text import TextClassifier, TextConfig
from .plots import plot_seeds
from .results import Row, summary, write_markdown, write_table
from .study import arm_values, known_of, mean_and_deviation, run_all
from .words import Vocabulary, read_sst2

NAMES = {"full": "full (Hamilton)"}
PAPER = {  # Table 15: accuracy, its deviation, latency in ms
    "shared": (81.04, 0.30, 2.87),
    "full": (81.12, 0.70, 3.92),
}


@dataclass(frozen=True)
class TextTraining(OnDevice):
    """Settings of encoders that are trained on SST-2.

    In the sizes `full` has the 100,000 parameters of appendix E.2.
    """

    train: str = ""
    valid: str = ""
    dim: int = 128
    feed: int = 512
    heads: int = 4
    layers: int = 2
    vocabulary: int = 8000
    length: int = 64
    epochs: int = 1
    batch: int = 32
    learning_rate: float = 5e-4
    seeds: tuple[int, ...] = (0, 1, 2)


@dataclass(frozen=True)
class Sentiment(TextTraining):
    """Settings; FULL trains longer.

    AdamW with a cosine schedule; `warmup` is the share of the steps in which the rate rises. The
    accuracy is that of the last epoch. `out` holds the trained networks, so that an interrupted
    experiment continues. Latency is measured on the CPU.
    """

    arms: tuple[str, ...] = ("shared", "full", "real")
    phm_n: int = 4
    warmup: float = 0.05
    latency_seconds: float = 2.0  # of timing, for each arm

    FULL = {"epochs": 20, "learning_rate": 3e-4}
    MAY_BE_ZERO = ("warmup",)
    FREE = (*OnDevice.FREE, "latency_seconds")

    def __post_init__(self) -> None:
        super().__post_init__()
        for arm in self.arms:
            self.network(arm, 2)

    def run(self, out: Path) -> str:
        rows, curves = self._runs(out)
        latency = self._latency(out)
        table: list[Row] = []
        for arm in self.arms:
            table.append(self._summary(arm, rows, latency))
        write_table(out / "sentiment.csv", table)
        write_table(out / "sentiment-curves.csv", curves)
        ratio = _ratio(latency)
        notes = [ratio] if ratio else []
        write_markdown(out / "sentiment.md", table, *notes, NOTE.format(self))
        self._plot(out / "sentiment.png", rows)
        results = summary(table, "{arm} {accuracy %} % ({parameters:,} parameters)")
        return "; ".join([results, *notes])

    def _plot(self, path: Path, rows: list[Row]) -> None:
        points: dict[str, list[float]] = {}
        paper: dict[str, float] = {}
        for arm in self.arms:
            points[_name(arm)] = arm_values(rows, arm, "accuracy %")
        for arm, values in known_of(self.arms, PAPER).items():
            paper[_name(arm)] = values[0]
        plot_seeds(path, points, paper, "accuracy on the development set, %")

    def trained(self, out: Path) -> dict[tuple[str, int], TextClassifier]:
        """Train what `out` does not hold; return the networks by arm and seed."""
        self._runs(out)
        networks: dict[tuple[str, int], TextClassifier] = {}
        for seed in self.seeds:
            for arm in self.arms:
                networks[arm, seed] = self._load(out, arm, seed)
        return networks

    def examples(self) -> tuple[int, Examples, Examples]:
        """Read the texts; return the number of words, training and validation examples.

        Raises UsageError without files.
        """
        if not (self.train and self.valid):
            raise UsageError(
                "this needs text: --set train=SST-2/train.tsv --set valid=SST-2/dev.tsv"
            )
        return self._examples

    @cached_property
    def _examples(self) -> tuple[int, Examples, Examples]:
        texts, labels = read_sst2(Path(self.train))
        held, held_labels = read_sst2(Path(self.valid))
        words = Vocabulary(texts, self.vocabulary)
        train = ([words.encode(texts, self.length)], torch.tensor(labels))
        valid = ([words.encode(held, self.length)], torch.tensor(held_labels))
        return len(words), train, valid

    def network(self, arm: str, vocabulary: int) -> TextClassifier:
        """Build the untrained network of an arm."""
        config = TextConfig(arm, self.phm_n, self.dim, self.feed, self.heads, self.layers)
        return TextClassifier(config, vocabulary, 2)

    def _runs(self, out: Path) -> tuple[list[Row], list[Row]]:
        self.examples()
        return run_all(out / "sentiment-runs.json", self, partial(self._train, out))

    def _train(self, out: Path, arm: str, seed: int, title: str) -> tuple[Row, list[Row]]:
        words, texts, held = self.examples()
        torch.manual_seed(seed)
        network = self.network(arm, words).to(self.device)
        optimizer = torch.optim.AdamW(network.parameters(), self.learning_rate)
        sizes: Row = {"epochs": self.epochs, "batch": self.batch, "warmup": self.warmup}
        curve = train_classifier(network, texts, held, optimizer, title=title, **sizes)
        with atomic_path(_weights(out, arm, seed), source=None) as part:
            part.write_bytes(save(network.state_dict()))
        found = {"accuracy %": curve[-1]["accuracy %"]}
        return found | {"parameters": parameter_count(network.layers)}, curve

    def _load(self, out: Path, arm: str, seed: int) -> TextClassifier:
        network = self.network(arm, self.examples()[0])
        path = _weights(out, arm, seed)
        try:
            network.load_state_dict(load_file(path))
        except (OSError, RuntimeError, SafetensorError) as error:
            cure = f"delete {out / 'sentiment-runs.json'} to train again"
            raise QseError(f"{path}: cannot read this network; {cure}") from error
        return network.eval()

    @torch.inference_mode()
    def _latency(self, out: Path) -> dict[str, float]:
        """Return the median time in ms of a batch of sentences; the arms take turns."""
        _, _, (inputs, _) = self.examples()
        tokens = trimmed(inputs[0][: self.batch])
        calls: dict[str, Callable[[], object]] = {}
        for arm in self.arms:
            calls[arm] = partial(self._load(out, arm, self.seeds[0]), tokens)
        times = race(calls, self.latency_seconds)
        return {arm: 1000 * times[arm].median for arm in self.arms}

    def _summary(self, arm: str, rows: list[Row], latency: dict[str, float]) -> Row:
        """Return the row of Table 15 of an arm, with the paper's values."""
        accuracy, deviation, milliseconds = PAPER.get(arm, (None, None, None))
        return {
            "arm": _name(arm),
            "parameters": arm_values(rows, arm, "parameters")[0],
            "accuracy %": mean_and_deviation(arm_values(rows, arm, "accuracy %")),
            "paper accuracy %": f"{accuracy:.2f} ± {deviation:.2f}" if accuracy else "",
            "latency ms / batch": f"{latency[arm]:.2f}",
            "paper latency ms": f"{milliseconds:.2f}" if milliseconds else "",
        }


def _name(arm: str) -> str:
    return NAMES.get(arm, arm)


def _weights(out: Path, arm: str, seed: int) -> Path:
    return out / f"sentiment-{arm}-{seed}.safetensors"


def _ratio(latency: dict[str, float]) -> str:
    """Return a sentence with the time of shared scores over that of Hamilton attention."""
    if not {"shared", "full"} <= latency.keys():
        return ""
    found = latency["shared"] / latency["full"]
    paper = PAPER["shared"][2] / PAPER["full"][2]
    return f"latency shared / Hamilton {found:.2f} (paper {paper:.2f})"


NOTE = (
    "Parameters without embedding, final norm and classifier. Accuracy: mean ± standard deviation "
    "over seeds {0.seeds}, last of {0.epochs} epochs, batch {0.batch}, learning rate "
    "{0.learning_rate}. Latency: median time of a batch of {0.batch} sentences on a CPU; the "
    "paper's is that of a GPU that it does not name for this table."
)

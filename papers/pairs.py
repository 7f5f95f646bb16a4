"""Textual entailment of sentence pairs, SNLI.

Tay et al. 2019, section 4.1, Table 1; Zhang et al. 2021, section 5.1, Table 1. Compares
Hamilton-product attention (q-att), decomposable attention as wide (deatt) and a quarter as wide
(deatt-small), and LSTM encoders: real, quaternion, PHM with n = 2, 5, 10. `train` and `valid` are
SNLI files. Words are learned from the pairs alone, not from GloVe.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch
from torch import nn

from qse.errors import UsageError

from .base import OnDevice
from .classify import Examples, train_classifier
from .networks.count import parameter_count
from .networks.pairs import DecomposableClassifier, LstmClassifier, PairClassifier
from .plots import plot_runs
from .results import Row, summary, write_results
from .study import arm_values, known_of, run_all, table_by_arm
from .words import INFERENCE, Vocabulary, read_snli

ACCURACY = {  # of the papers, % on SNLI
    "q-att": 85.4,
    "deatt": 86.2,
    "deatt-small": 83.4,
    "lstm": 84.18,
    "quaternion-lstm": 84.21,
    "phm-lstm-2": 84.38,
    "phm-lstm-5": 84.58,
    "phm-lstm-10": 84.40,
}
PARAMETERS = {  # of the papers
    "q-att": "200K",
    "deatt": "700K",
    "deatt-small": "200K",
    "lstm": "721K",
    "quaternion-lstm": "180K",
    "phm-lstm-2": "361K",
    "phm-lstm-5": "146K",
    "phm-lstm-10": "81K",
}


@dataclass(frozen=True)
class Pairs(OnDevice):
    """Settings; FULL holds those of the papers.

    channels: quaternions of q-att; deatt has four times as many reals. embedding: also the width of
    the LSTMs.
    """

    train: str = ""
    valid: str = ""
    arms: tuple[str, ...] = tuple(ACCURACY)
    channels: int = 20
    embedding: int = 100
    vocabulary: int = 20000
    length: int = 40
    epochs: int = 2
    batch: int = 64
    learning_rate: float = 1e-3
    seeds: tuple[int, ...] = (0,)

    FULL = {"channels": 50, "embedding": 300, "epochs": 20, "learning_rate": 3e-4}

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_known("arms", ACCURACY)
        with torch.device("meta"):
            for arm in self.arms:
                self.network(arm, 2)

    def run(self, out: Path) -> str:
        rows, curves = run_all(out / "pairs-runs.json", self, self._train)
        table = table_by_arm(
            self.arms,
            rows,
            {"accuracy %": 2},
            {"paper: parameters": PARAMETERS, "paper: accuracy %": ACCURACY},
        )
        note = NOTE.format(self, arm_values(rows, self.arms[0], "pairs")[0])
        write_results(out / "pairs", table, curves, note)
        labels = ("epoch", "accuracy on validation pairs, %")
        lines = known_of(self.arms, ACCURACY)
        plot_runs(out / "pairs.png", curves, x="epoch", y="accuracy %", labels=labels, lines=lines)
        return summary(table, "{network} {accuracy %} % ({parameters:,})")

    def network(self, arm: str, words: int) -> nn.Module:
        """Build the untrained network of an arm."""
        classes = len(INFERENCE)
        if arm == "q-att":
            return PairClassifier(words, classes, self.embedding, self.channels)
        if arm.startswith("deatt"):
            dim = self.channels if arm == "deatt-small" else 4 * self.channels
            return DecomposableClassifier(words, classes, self.embedding, dim)
        if arm == "quaternion-lstm":
            return LstmClassifier(words, classes, self.embedding, 4, hamilton=True)
        n = 1 if arm == "lstm" else int(arm.rpartition("-")[2])
        return LstmClassifier(words, classes, self.embedding, n)

    @cached_property
    def _examples(self) -> tuple[int, Examples, Examples]:
        """Return the number of words, training and validation pairs."""
        if not (self.train and self.valid):
            raise UsageError(
                "pairs needs text: --set train=snli_1.0_train.jsonl --set valid=snli_1.0_dev.jsonl"
            )
        train = read_snli(Path(self.train))
        valid = read_snli(Path(self.valid))
        words = Vocabulary([*train[0], *train[1]], self.vocabulary)
        return len(words), self._encoded(words, *train), self._encoded(words, *valid)

    def _encoded(
        self, words: Vocabulary, first: list[str], second: list[str], labels: list[int]
    ) -> Examples:
        inputs = [words.encode(first, self.length), words.encode(second, self.length)]
        return inputs, torch.tensor(labels)

    def _train(self, arm: str, seed: int, title: str) -> tuple[Row, list[Row]]:
        torch.manual_seed(seed)
        words, train, valid = self._examples
        network = self.network(arm, words).to(self.device)
        optimizer = torch.optim.Adam(network.parameters(), self.learning_rate)
        sizes: Row = {"epochs": self.epochs, "batch": self.batch}
        curve = train_classifier(network, train, valid, optimizer, title=title, **sizes)
        found = {"parameters": parameters(network), "pairs": len(train[1])}
        return found | {"accuracy %": curve[-1]["accuracy %"]}, curve


def parameters(network: nn.Module) -> int:
    """Return the parameters as the tables count them.

    Of an LSTM classifier those of its cells alone, of others all but the embedding.
    """
    if isinstance(network, LstmClassifier):
        return parameter_count(network.lstm)
    return parameter_count(network) - parameter_count(network.get_submodule("embedding"))


NOTE = (
    "Parameters without word embeddings, of the LSTMs without the classifier. {1} training pairs, "
    "{0.epochs} epochs, embedding {0.embedding}, words learned from the pairs; the papers train on "
    "549,367 pairs with GloVe vectors."
)

"""Number of a verb from the words before it.

Tay et al. 2019, section 4.5, Table 5; Zhang et al. 2021, section 5.4, Table 5. Compares the
Transformer encoders of `sentiment` and PHM layers with n = 2, 4, 8. `data` is the folder
`linzen_testset` of the colorless-green corpus: subj_agr_filtered.text and subj_agr_filtered.gold.
A fifth of its sentences is held out, the same in each run; the accuracy is that of the last epoch.
Controls: the more frequent number, and the number that followed the last word most often.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random

import torch
from torch import Tensor

from qse.errors import QseError, UsageError

from .base import OnDevice
from .classify import Examples, predictions, train_classifier
from .networks.text import TextClassifier, TextConfig, matrix_parameters
from .plots import plot_runs
from .results import Row, summary, write_results
from .study import known_of, listed, run_all, table_by_arm
from .words import Vocabulary, read_lines

ARMS = ("real", "full", "partial", "shared", "phm-2", "phm-4", "phm-8")
PAPER = {  # accuracy %
    "real": 94.8,
    "full": 94.7,
    "partial": 95.5,
    "phm-2": 95.14,
    "phm-4": 95.05,
    "phm-8": 95.62,
}
SINGULAR = {"is", "was", "has"}  # of other pairs of forms, the longer one is singular
HELD = 5  # one sentence of five


@dataclass(frozen=True)
class Prefix:
    """The words before a verb and its number, 1 for the plural.

    attractors: nouns of the other number between subject and verb.
    """

    words: list[str]
    number: int
    attractors: int


def read_prefixes(folder: Path) -> list[Prefix]:
    """Read the sentences of a folder and cut them before the verb.

    A sentence that does not have the verb where it should is left out (four of the 7,489 published
    ones). Raises QseError for another format.
    """
    stem = folder / "subj_agr_filtered"
    texts = read_lines(stem.with_suffix(".text"))
    golds = read_lines(stem.with_suffix(".gold"))
    found: list[Prefix] = []
    for number, (text, gold) in enumerate(zip(texts, golds, strict=False), 1):
        words = text.split()
        try:
            place, right, wrong, attractors = gold.split("\t")
            prefix = Prefix(words[: int(place)], is_plural(right, wrong), int(attractors))
        except ValueError as error:
            raise QseError(
                f"{stem}.gold: line {number} needs place, verb, wrong verb and attractors"
            ) from error
        if prefix.words and words[int(place) : int(place) + 1] == [right]:
            found.append(prefix)
    if len(found) < HELD:
        raise QseError(
            f"{stem}.text: {len(found)} sentences agree with the .gold file; fetch both files anew"
        )
    return found


def is_plural(form: str, other: str) -> int:
    """Return 1 if the verb form is the plural of the two, 0 if it is the singular."""
    if {form, other} & SINGULAR:
        return int(form not in SINGULAR)
    return int(len(form) < len(other))


@dataclass(frozen=True)
class VerbAgreement(OnDevice):
    """Settings; FULL trains as long as the paper, 10,000 steps."""

    data: str = ""
    arms: tuple[str, ...] = ARMS
    dim: int = 128
    feed: int = 512
    heads: int = 4
    layers: int = 2
    vocabulary: int = 8000
    length: int = 40
    epochs: int = 6
    batch: int = 32
    learning_rate: float = 5e-4
    warmup: float = 0.1
    seeds: tuple[int, ...] = (0,)

    FULL = {"epochs": 53, "seeds": [0, 1, 2]}
    MAY_BE_ZERO = ("warmup",)

    def __post_init__(self) -> None:
        super().__post_init__()
        for arm in self.arms:
            self.network(arm, 2)

    def run(self, out: Path) -> str:
        rows, curves = run_all(out / "verb-agreement-runs.json", self, self._train)
        metrics = {key: 2 for key in rows[0] if key.endswith("%")}
        table = table_by_arm(self.arms, rows, metrics, {"paper %": PAPER})
        table += self._controls()
        train, test = self._sentences
        note = NOTE.format(self, len(train), len(test), listed(self.seeds))
        write_results(out / "verb-agreement", table, curves, note)
        plot_runs(
            out / "verb-agreement.png",
            curves,
            x="epoch",
            y="accuracy %",
            labels=("epoch", "accuracy on held-out sentences, %"),
            lines=known_of(self.arms, PAPER),
        )
        return summary(table, "{network} {accuracy %} % ({parameters})")

    def network(self, arm: str, vocabulary: int) -> TextClassifier:
        """Build the untrained network of an arm; "phm-N" has PHM layers with n = N."""
        kind, _, n = arm.partition("-")
        config = TextConfig(kind, int(n or 4), self.dim, self.feed, self.heads, self.layers)
        return TextClassifier(config, vocabulary, 2)

    @cached_property
    def _sentences(self) -> tuple[list[Prefix], list[Prefix]]:
        """Return the sentences to train on and those held out."""
        if not self.data:
            raise UsageError(
                "this needs sentences: --set data=colorlessgreenRNNs/data/linzen_testset"
            )
        found = read_prefixes(Path(self.data))
        Random(0).shuffle(found)
        cut = len(found) // HELD
        return found[cut:], found[:cut]

    @cached_property
    def _examples(self) -> tuple[int, Examples, Examples]:
        """Return the number of words, the examples to train on and those held out."""
        train, test = self._sentences
        words = Vocabulary(self._texts(train), self.vocabulary)
        return len(words), self._encoded(words, train), self._encoded(words, test)

    def _texts(self, sentences: list[Prefix]) -> list[str]:
        return [" ".join(prefix.words[-self.length :]) for prefix in sentences]

    def _encoded(self, words: Vocabulary, sentences: list[Prefix]) -> Examples:
        return [words.encode(self._texts(sentences), 2 * self.length)], numbers_of(sentences)

    def _train(self, arm: str, seed: int, title: str) -> tuple[Row, list[Row]]:
        words, train, test = self._examples
        torch.manual_seed(seed)
        network = self.network(arm, words).to(self.device)
        optimizer = torch.optim.AdamW(network.parameters(), self.learning_rate)
        sizes: Row = {"epochs": self.epochs, "batch": self.batch, "warmup": self.warmup}
        curve = train_classifier(network, train, test, optimizer, title=title, **sizes)
        inputs, numbers = test
        right = predictions(network, inputs) == numbers
        found = {"parameters": matrix_parameters(network.layers)}
        return found | by_attractors(right, self._sentences[1]), curve

    def _controls(self) -> list[Row]:
        """Return a row for each way to guess the number without a network."""
        train, test = self._sentences
        common = Counter(numbers_of(train).tolist()).most_common(1)[0][0]
        after: dict[str, Counter[int]] = defaultdict(Counter)
        for prefix in train:
            after[prefix.words[-1]][prefix.number] += 1
        by_word: list[int] = []
        for prefix in test:
            counts = after.get(prefix.words[-1])
            by_word.append(counts.most_common(1)[0][0] if counts else common)
        return [
            _control("more frequent number", [common] * len(test), test),
            _control("after the last word", by_word, test),
        ]


def _control(name: str, guesses: Sequence[int], test: list[Prefix]) -> Row:
    row: Row = {"network": f"control: {name}", "parameters": "-"}
    for key, value in by_attractors(torch.tensor(guesses) == numbers_of(test), test).items():
        row[key] = f"{value:.2f}"
    return row | {"paper %": "-"}


def numbers_of(sentences: Sequence[Prefix]) -> Tensor:
    """Return the numbers of the verbs (N,)."""
    return torch.tensor([prefix.number for prefix in sentences])


def by_attractors(right: Tensor, test: list[Prefix]) -> Row:
    """Return the accuracy in percent: of all sentences, and of those with 0, 1, 2 and more."""
    attractors = torch.tensor([prefix.attractors for prefix in test]).clamp_max(2)
    row = {"accuracy %": 100 * right.float().mean().item()}
    for count in sorted(set(attractors.tolist())):
        some = right[attractors == count]
        name = f"attractors {count}{'+' if count == 2 else ''} (n = {len(some)}) %"
        row[name] = 100 * some.float().mean().item()
    return row


NOTE = (
    "Parameters without embeddings, norms and classifier. {1} sentences to train on, {2} held out, "
    "{0.epochs} epochs, seeds {3}. The papers' corpus (Linzen et al. 2016) has about 1.5 million "
    "sentences. Attractors: nouns of the other number between subject and verb."
)

"""Readers of text corpora in their official formats, and a vocabulary.

Words are numbers: 0 for padding, 1 for an unknown word.
"""

import csv
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from qse.errors import QseError

WORD = re.compile(r"\w+|[^\w\s]")
INFERENCE = {"entailment": 0, "neutral": 1, "contradiction": 2}


def read_sst2(path: Path) -> tuple[list[str], list[int]]:
    """Return sentences and labels 0 or 1 of an SST-2 file.

    It is a TSV file with the columns sentence (or content) and label.
    """
    rows = list(csv.DictReader(read_lines(path), delimiter="\t", quoting=csv.QUOTE_NONE))
    column = "content" if rows and "content" in rows[0] else "sentence"
    sentences: list[str] = []
    labels: list[int] = []
    try:
        for row in rows:
            sentences.append(row[column])
            labels.append(_label(row["label"], 2))
    except (KeyError, TypeError, ValueError) as error:
        raise QseError(
            f"{path}: not an SST-2 file; it needs the columns sentence and label, 0 or 1"
        ) from error
    return sentences, labels


def read_snli(path: Path) -> tuple[list[str], list[str], list[int]]:
    """Return premises, hypotheses and labels of an SNLI file (JSON lines).

    Pairs without a gold label are left out.
    """
    premises: list[str] = []
    hypotheses: list[str] = []
    labels: list[int] = []
    try:
        for line in read_lines(path):
            row = json.loads(line) if line.strip() else None
            if row is None or row["gold_label"] == "-":
                continue
            labels.append(INFERENCE[row["gold_label"]])
            premises.append(row["sentence1"])
            hypotheses.append(row["sentence2"])
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise QseError(
            f"{path}: not an SNLI file; a line holds gold_label, sentence1 and sentence2"
        ) from error
    return premises, hypotheses, labels


def read_lines(path: Path) -> list[str]:
    """Return the lines of a text file. Raises QseError if it is missing, empty or not UTF-8."""
    return _text(path).rstrip("\n").split("\n")  # splitlines would cut at U+2028 and others as well


class Vocabulary:
    """Map the `size` - 2 most frequent words of sentences, in lower case, to numbers from 2."""

    def __init__(self, sentences: Sequence[str], size: int):
        counts = Counter[str]()
        for sentence in sentences:
            counts.update(_words(sentence))
        self.numbers: dict[str, int] = {}
        for number, (word, _) in enumerate(counts.most_common(size - 2), 2):
            self.numbers[word] = number

    def __len__(self) -> int:
        return len(self.numbers) + 2

    def encode(self, sentences: Sequence[str], length: int) -> Tensor:
        """Return word numbers (N, L), L the longest sentence or `length`.

        An empty sentence is one unknown word.
        """
        rows: list[list[int]] = []
        for sentence in sentences:
            words = _words(sentence)[:length]
            rows.append([self.numbers.get(word, 1) for word in words] or [1])
        tokens = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
        for row, numbers in zip(tokens, rows, strict=True):
            row[: len(numbers)] = torch.tensor(numbers)
        return tokens


def _words(sentence: str) -> list[str]:
    return WORD.findall(sentence.lower())


def _label(text: str, classes: int) -> int:
    if not 0 <= int(text) < classes:
        raise ValueError(text)
    return int(text)


def _text(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise QseError(
            f"{path}: cannot read this text file; name an existing one in UTF-8"
        ) from error
    if not text.strip():
        raise QseError(f"{path}: empty; name a file with examples")
    return text

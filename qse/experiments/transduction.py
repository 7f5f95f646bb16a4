"""Tasks that rewrite one sequence as another: mathematical language (Tay et al. 2019, section 4.4; Wangperawong 2018)
and a pair of text files (Zhang et al. 2021, section 5.3).

Tokens: 0 for padding, END after a target, from 2 on characters or words.
"""

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Protocol

import torch
from torch import Tensor, nn

from ..errors import QseError
from .networks.transducer import END
from .words import Vocabulary, read_lines

CHARACTERS = "0123456789+-*=,xy"
HELD = 20  # one pair of operands in twenty is for testing alone


class Transduction(Protocol):
    """Sources and targets of a task. longest: tokens of a target at most; metric: what `score` returns."""

    vocabulary: int
    longest: int
    metric: str

    def batch(self, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Draw source (size, S) and target (size, T) to train on."""
        ...

    def held_out(self) -> tuple[Tensor, Tensor]:
        """Return the sources and targets to test on."""
        ...

    def score(self, outputs: list[list[int]], targets: Tensor) -> float:
        """Return a percentage for outputs and targets."""
        ...


class Arithmetic:
    """Character-level sums, differences and products of two signed numbers: "x=85,y=-52,x*y" -> "-4420".

    Operands have at most `digits` digits; either may come first. The paper's corpus is not published with it; this
    generator follows its example.
    """

    metric = "exact match %"

    def __init__(self, digits: int, test: int):
        self.top, self.test = 10**digits - 1, test
        self.vocabulary, self.longest = len(CHARACTERS) + 2, 2 * digits + 2

    def batch(self, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        random = Random(int(torch.randint(2**31, (1,), generator=generator)))
        return self._drawn(size, random, held=False)

    def held_out(self) -> tuple[Tensor, Tensor]:
        return self._drawn(self.test, Random(0), held=True)

    def score(self, outputs: list[list[int]], targets: Tensor) -> float:
        return exact_match(outputs, targets)

    def problem(self, random: Random, held: bool) -> tuple[str, str]:
        """Draw a problem and its answer; operands are those held out, or all others."""
        while True:
            x, y = (random.randint(-self.top, self.top) for _ in "xy")
            if held == ((31 * x + y) % HELD == 0):
                break
        operator, (a, b) = random.choice("+-*"), random.sample("xy", 2)
        left, right = {"x": x, "y": y}[a], {"x": x, "y": y}[b]
        value = {"+": left + right, "-": left - right, "*": left * right}[operator]
        return f"x={x},y={y},{a}{operator}{b}", str(value)

    def _drawn(self, size: int, random: Random, held: bool) -> tuple[Tensor, Tensor]:
        problems, answers = zip(*(self.problem(random, held) for _ in range(size)), strict=True)
        encoded = [
            [[CHARACTERS.index(c) + 2 for c in text] for text in texts]
            for texts in (problems, answers)
        ]
        return padded(encoded[0]), padded([[*row, END] for row in encoded[1]])


class ParallelText:
    """Word-level rewriting: files train.SOURCE, train.TARGET, test.SOURCE and test.TARGET, a sentence per line.

    The `words` most frequent words of the training files are known; pairs longer than `length` are not trained on.
    """

    metric = "BLEU"

    def __init__(
        self, folder: Path, styles: tuple[str, str], *, words: int, length: int, test: int
    ):
        train, held = (_pairs(folder, part, styles) for part in ("train", "test"))
        short = [pair for pair in train if max(len(text.split()) for text in pair) <= length]
        if not short:
            raise QseError(f"{folder}: no pair of at most {length} words; raise length")
        self.words = Vocabulary([text for pair in short for text in pair], words)
        self.vocabulary, self.longest, self.pairs = len(self.words) + 1, length, short
        self.source, self.target = self._encoded(short, length)
        self.test = self._encoded(held[:test], 2 * length)

    def batch(self, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        chosen = torch.randint(len(self.source), (size,), generator=generator)
        return trimmed(self.source[chosen]), trimmed(self.target[chosen])

    def held_out(self) -> tuple[Tensor, Tensor]:
        return self.test

    def score(self, outputs: list[list[int]], targets: Tensor) -> float:
        return bleu(outputs, [content(row) for row in targets.tolist()])

    def _encoded(self, pairs: list[tuple[str, str]], length: int) -> tuple[Tensor, Tensor]:
        source, target = (
            self.words.encode([pair[n] for pair in pairs], 2 * length) for n in range(2)
        )
        source, target = (
            part + (part != 0) for part in (source, target)
        )  # END stands before the unknown word
        rows = [[*content(row), END] for row in target.tolist()]
        return source, padded(rows)


def padded(rows: Sequence[Sequence[int]]) -> Tensor:
    """Return rows of tokens as (N, L), padded with zeros at the end."""
    return nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)


def trimmed(tokens: Tensor) -> Tensor:
    """Return (N, L) without the columns that are padding in all rows."""
    return tokens[:, : int((tokens != 0).sum(1).max())]


def content(row: Sequence[int]) -> list[int]:
    """Return the tokens of a row without padding and END."""
    return [token for token in row if token > END]


def exact_match(outputs: list[list[int]], targets: Tensor) -> float:
    """Return the percentage of outputs that are their target."""
    right = [output == content(row) for output, row in zip(outputs, targets.tolist(), strict=True)]
    return 100 * sum(right) / len(right)


def bleu(
    outputs: Sequence[Sequence[int]], references: Sequence[Sequence[int]], top: int = 4
) -> float:
    """Return the corpus BLEU in percent with one reference each, without smoothing (Papineni et al. 2002)."""
    matches, totals = [0] * top, [0] * top
    for output, reference in zip(outputs, references, strict=True):
        for n in range(1, top + 1):
            found, known = (
                Counter(zip(*(row[k:] for k in range(n)), strict=False))
                for row in (output, reference)
            )
            matches[n - 1] += (found & known).total()
            totals[n - 1] += found.total()
    if not all(matches):
        return 0.0
    precision = sum(math.log(m / t) for m, t in zip(matches, totals, strict=True)) / top
    lengths = (sum(map(len, rows)) for rows in (references, outputs))
    wanted, given = lengths
    return 100 * math.exp(precision + min(0.0, 1 - wanted / given))


def _pairs(folder: Path, part: str, styles: tuple[str, str]) -> list[tuple[str, str]]:
    source, target = (read_lines(folder / f"{part}.{style}") for style in styles)
    if len(source) != len(target):
        raise QseError(
            f"{folder / part}.*: {len(source)} and {len(target)} lines; both need as many"
        )
    return list(zip(source, target, strict=True))

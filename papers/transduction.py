"""Tasks that rewrite one sequence as another.

Mathematical language (Tay et al. 2019, section 4.4; Wangperawong 2018) and a pair of text files
(Zhang et al. 2021, section 5.3). Tokens: 0 for padding, END after a target, from 2 on characters or
words.
"""

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Protocol

import torch
from torch import Tensor, nn

from qse.errors import QseError

from .networks.transducer import END
from .words import Vocabulary, read_lines

CHARACTERS = "0123456789+-*=,xy"
HELD = 20  # one pair of operands in twenty is for testing alone


class Transduction(Protocol):
    """Sources and targets of a task.

    longest: tokens of a target at most; metric: what `score` returns.
    """

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
    """Character-level sums, differences and products: "x=85,y=-52,x*y" -> "-4420".

    Operands are signed and have at most `digits` digits; either may come first. The paper's corpus
    is not published with it; this generator follows its example.
    """

    metric = "exact match %"

    def __init__(self, digits: int, test: int):
        self.top = 10**digits - 1
        self.test = test
        self.vocabulary = len(CHARACTERS) + 2
        self.longest = 2 * digits + 2

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
            x = random.randint(-self.top, self.top)
            y = random.randint(-self.top, self.top)
            if held == ((31 * x + y) % HELD == 0):
                break
        operator = random.choice("+-*")
        a, b = random.sample("xy", 2)
        left = x if a == "x" else y
        right = x if b == "x" else y
        value = {"+": left + right, "-": left - right, "*": left * right}[operator]
        return f"x={x},y={y},{a}{operator}{b}", str(value)

    def _drawn(self, size: int, random: Random, held: bool) -> tuple[Tensor, Tensor]:
        problems: list[list[int]] = []
        answers: list[list[int]] = []
        for _ in range(size):
            problem, answer = self.problem(random, held)
            problems.append(_characters(problem))
            answers.append([*_characters(answer), END])
        return padded(problems), padded(answers)


class ParallelText:
    """Word-level rewriting of a folder of text, a sentence per line.

    The files are train.SOURCE, train.TARGET, test.SOURCE and test.TARGET. The `words` most frequent
    words of the training files are known; pairs longer than `length` are not trained on.
    """

    metric = "BLEU"

    def __init__(
        self, folder: Path, styles: tuple[str, str], *, words: int, length: int, test: int
    ):
        short: list[tuple[str, str]] = []
        for source, target in _pairs(folder, "train", styles):
            if max(len(source.split()), len(target.split())) <= length:
                short.append((source, target))
        if not short:
            raise QseError(f"{folder}: no pair of at most {length} words; raise length")

        texts: list[str] = []
        for pair in short:
            texts += pair
        self.words = Vocabulary(texts, words)
        self.vocabulary = len(self.words) + 1
        self.longest = length
        self.pairs = short
        self.source, self.target = self._encoded(short, length)
        self.test = self._encoded(_pairs(folder, "test", styles)[:test], 2 * length)

    def batch(self, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        chosen = torch.randint(len(self.source), (size,), generator=generator)
        return trimmed(self.source[chosen]), trimmed(self.target[chosen])

    def held_out(self) -> tuple[Tensor, Tensor]:
        return self.test

    def score(self, outputs: list[list[int]], targets: Tensor) -> float:
        return bleu(outputs, [content(row) for row in targets.tolist()])

    def _encoded(self, pairs: list[tuple[str, str]], length: int) -> tuple[Tensor, Tensor]:
        sources, targets = zip(*pairs, strict=True)
        source = self._tokens(sources, length)
        target = self._tokens(targets, length)
        return source, padded([[*content(row), END] for row in target.tolist()])

    def _tokens(self, texts: Sequence[str], length: int) -> Tensor:
        """Return word numbers raised by 1, so that END stands before the unknown word."""
        numbers = self.words.encode(texts, 2 * length)
        return numbers + (numbers != 0)


def _characters(text: str) -> list[int]:
    return [CHARACTERS.index(character) + 2 for character in text]


def padded(rows: Sequence[Sequence[int]]) -> Tensor:
    """Return rows of tokens as (N, L), padded with zeros at the end."""
    return nn.utils.rnn.pad_sequence(list(map(torch.tensor, rows)), batch_first=True)


def trimmed(tokens: Tensor) -> Tensor:
    """Return (N, L) without the columns that are padding in all rows."""
    return tokens[:, : int((tokens != 0).sum(1).max())]


def content(row: Sequence[int]) -> list[int]:
    """Return the tokens of a row without padding and END."""
    return [token for token in row if token > END]


def exact_match(outputs: list[list[int]], targets: Tensor) -> float:
    """Return the percentage of outputs that are their target."""
    right = 0
    for output, row in zip(outputs, targets.tolist(), strict=True):
        right += output == content(row)
    return 100 * right / len(outputs)


def bleu(
    outputs: Sequence[Sequence[int]], references: Sequence[Sequence[int]], top: int = 4
) -> float:
    """Return the corpus BLEU in percent with one reference each, without smoothing.

    Papineni et al. 2002.
    """
    matches = [0] * top
    totals = [0] * top
    for output, reference in zip(outputs, references, strict=True):
        for n in range(1, top + 1):
            found = _runs_of(output, n)
            matches[n - 1] += (found & _runs_of(reference, n)).total()
            totals[n - 1] += found.total()
    if not all(matches):
        return 0.0

    logarithm = 0.0
    for match, total in zip(matches, totals, strict=True):
        logarithm += math.log(match / total)
    wanted = sum(map(len, references))
    given = sum(map(len, outputs))
    return 100 * math.exp(logarithm / top + min(0.0, 1 - wanted / given))


def _runs_of(row: Sequence[int], n: int) -> Counter[tuple[int, ...]]:
    """Count the runs of `n` tokens of a row."""
    return Counter(tuple(row[start : start + n]) for start in range(len(row) - n + 1))


def _pairs(folder: Path, part: str, styles: tuple[str, str]) -> list[tuple[str, str]]:
    source = read_lines(folder / f"{part}.{styles[0]}")
    target = read_lines(folder / f"{part}.{styles[1]}")
    if len(source) != len(target):
        raise QseError(
            f"{folder / part}.*: {len(source)} and {len(target)} lines; both need as many"
        )
    return list(zip(source, target, strict=True))

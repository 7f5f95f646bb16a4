"""Lines of reasoning tasks as tensors of bytes."""

from dataclasses import dataclass
from random import Random

import torch
from torch import Tensor, nn

from qse.errors import QseError

from .tasks import TASKS

LONGEST_SEARCH = 1000  # lines in a row that are too long


@dataclass(frozen=True)
class Corpus:
    """Lines of tasks.

    tokens (N, length); answer (N, length), True at the bytes of the answer; task (N,) as index into
    `names`.
    """

    tokens: Tensor
    answer: Tensor
    task: Tensor
    names: tuple[str, ...]


def corpus(names: tuple[str, ...], per_task: int, length: int, seed: int) -> Corpus:
    """Draw `per_task` lines of each task, padded to the longest.

    A line of more than `length` bytes is drawn again. Raises QseError if a task has no line that
    short.
    """
    rng = Random(seed)
    lines: list[Tensor] = []
    starts: list[int] = []
    numbers: list[int] = []
    for number, name in enumerate(names):
        for _ in range(per_task):
            line, start = _short_line(name, length, rng)
            lines.append(torch.tensor(list(line)))
            starts.append(start)
            numbers.append(number)
    tokens = nn.utils.rnn.pad_sequence(lines, batch_first=True)
    after = torch.arange(tokens.shape[1]) >= torch.tensor(starts)[:, None]
    return Corpus(tokens, after & (tokens != 0), torch.tensor(numbers), names)


def _short_line(name: str, length: int, rng: Random) -> tuple[bytes, int]:
    """Draw a line of a task of at most `length` bytes; return it and where its answer begins."""
    for _ in range(LONGEST_SEARCH + 1):
        prompt, answer = TASKS[name](rng)
        line = f"{prompt}={answer}\n".encode("ascii")
        if len(line) <= length:
            return line, len(prompt) + 1
    raise QseError(
        f"length {length}: too short for the task {name}, a line of which has {len(line)} bytes"
    )

"""Nine reasoning tasks and six architectures ("Q-Jamba", sections 4 and 5, Tables 3 and 4): loss and exact match.

The small setting tests retrieval alone: a pure state space against the same with one layer of attention.

Lines are bytes of "prompt=answer" and a line feed, padded with zeros. The loss is the cross-entropy of every byte after
the first; an answer matches if every byte of it, line feed included, is the most likely one, as in greedy decoding.
Training and validation lines are drawn independently. Some tasks have few prompts (logic twelve, inverse 900), so that
validation repeats training lines; copy has 26^10.
"""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..errors import QseError
from .networks.language import ARMS, CONTROLS, REGULARISED, Language, scaled
from .results import Row, plot_curves, write_table
from .schedule import warmup_cosine
from .tasks import TABLE_3, TASKS

KNOWN = ARMS | CONTROLS
AT_ONCE = 128  # lines per batch of a validation


@dataclass(frozen=True)
class Reasoning:
    """Settings; FULL holds those of the paper.

    width: scales dim and feed of every arm. regularised: dropout in the arms of Table 2, C1. max_grad_norm: clip
    gradients to this norm; 0 for no clipping, as in the paper (the small setting has ten times its learning rate).
    """

    arms: tuple[str, ...] = tuple(ARMS)
    tasks: tuple[str, ...] = ("copy",)
    width: float = 0.25
    regularised: bool = False
    length: int = 48
    train_per_task: int = 5000
    valid_per_task: int = 200
    steps: int = 800
    warmup: int = 30
    batch: int = 32
    learning_rate: float = 3e-3
    max_grad_norm: float = 1.0
    validations: int = 10
    seeds: tuple[int, ...] = (42,)
    device: str = "cpu"

    FULL: ClassVar[dict] = {
        "tasks": [task.__name__ for task in TABLE_3],
        "width": 1.0,
        "regularised": True,
        "length": 128,
        "train_per_task": 1500,
        "valid_per_task": 60,
        "steps": 2000,
        "warmup": 100,
        "batch": 64,
        "learning_rate": 3e-4,
        "max_grad_norm": 0.0,
        "validations": 20,
        "seeds": [42, 123, 7, 314, 2024],
    }

    def __post_init__(self) -> None:
        for given, known in ((self.arms, KNOWN), (self.tasks, TASKS)):
            if set(given) - set(known):
                raise ValueError(f"{given}: choose from {', '.join(known)}")

    def run(self, out: Path) -> str:
        curves, table = list[Row](), list[Row]()
        for seed in self.seeds:
            train = corpus(self.tasks, self.train_per_task, self.length, seed)
            valid = corpus(self.tasks, self.valid_per_task, self.length, seed + 1_000_000)
            for arm in self.arms:
                table.append({"arm": arm, "seed": seed} | self._train(arm, seed, train, valid, curves))
                write_table(out / "reasoning.csv", table)
                write_table(out / "reasoning-curves.csv", curves)
        first = [row for row in curves if row["seed"] == self.seeds[0]]
        plot_curves(out / "reasoning.png", first, x="step", y="exact", by="arm")
        return "; ".join(f"{row['arm']} loss {row['loss']:.3f}, exact {_progress(row, curves)}" for row in table)

    def network(self, arm: str) -> Language:
        """Build an arm at this experiment's width, with whole quaternions in every head."""
        dropout: dict[str, Any] = {} if self.regularised else dict.fromkeys(REGULARISED, 0.0)
        return Language(replace(scaled(KNOWN[arm], self.width), **dropout))

    def _train(self, arm: str, seed: int, train: "Corpus", valid: "Corpus", curves: list[Row]) -> Row:
        """Train an arm; return its validation with the lowest loss."""
        torch.manual_seed(seed)
        network = self.network(arm).to(self.device)
        decay = 0.05 if network.config.scan_dropout else 0.01  # Table 2
        optimizer = torch.optim.AdamW(network.parameters(), self.learning_rate, weight_decay=decay)
        schedule = warmup_cosine(optimizer, self.warmup, self.steps)
        found = list[Row]()
        for step in range(1, self.steps + 1):
            chosen = torch.randint(len(train.tokens), (self.batch,))
            optimizer.zero_grad()
            loss_of(network, train.tokens[chosen].to(self.device)).backward()
            if self.max_grad_norm:
                nn.utils.clip_grad_norm_(network.parameters(), self.max_grad_norm)
            optimizer.step()
            schedule.step()
            if step % max(1, self.steps // self.validations) == 0:
                found.append(row := validate(network, valid, self.device))
                curves.append({"arm": arm, "seed": seed, "step": step, "loss": row["loss"], "exact": row["exact"]})
        best = min(found, key=lambda row: (math.isnan(row["loss"]), row["loss"]))
        return {"params": sum(parameter.numel() for parameter in network.parameters())} | best


@dataclass(frozen=True)
class Corpus:
    """tokens (N, length), answer (N, length) True at the bytes of the answer, task (N,) as index into `names`."""

    tokens: Tensor
    answer: Tensor
    task: Tensor
    names: tuple[str, ...]


def _progress(run: Row, curves: list[Row]) -> str:
    """Return the exact match of a run, and the step at which it reached nine tenths of it."""
    rows = [row for row in curves if (row["arm"], row["seed"]) == (run["arm"], run["seed"])]
    first = next(row["step"] for row in rows if row["exact"] >= 0.9 * run["exact"])
    return f"{run['exact']:.0%}, nine tenths of it by step {first}" if run["exact"] else "0%"


def corpus(names: tuple[str, ...], per_task: int, length: int, seed: int) -> Corpus:
    """Draw `per_task` lines of each task, padded to the longest; a line of more than `length` bytes is drawn again.

    Raises QseError if a task has no line that short.
    """
    rng, rows, long = Random(seed), list[tuple[Tensor, int, int]](), 0
    for number, name in enumerate(names):
        while len(rows) < (number + 1) * per_task:
            prompt, answer = TASKS[name](rng)
            line = f"{prompt}={answer}\n".encode("ascii")
            long = long + 1 if len(line) > length else 0
            if long > 1000:
                raise QseError(f"length {length}: too short for the task {name}, a line of which has {len(line)} bytes")
            if not long:
                rows.append((torch.tensor(list(line)), len(prompt) + 1, number))
    lines, starts, tasks = zip(*rows, strict=True)
    tokens = nn.utils.rnn.pad_sequence(list(lines), batch_first=True)
    behind = torch.arange(tokens.shape[1]) >= torch.tensor(starts)[:, None]
    return Corpus(tokens, behind & (tokens != 0), torch.tensor(tasks), names)


def loss_of(network: nn.Module, tokens: Tensor) -> Tensor:
    """Return the mean cross-entropy in nats of every byte after the first, padding left out."""
    logits, wanted = network(tokens[:, :-1]), tokens[:, 1:]
    return F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=0)


@torch.no_grad()
def validate(network: nn.Module, valid: Corpus, device: str = "cpu") -> Row:
    """Return {"loss", "exact", and the exact match of every task}."""
    network.eval()
    matches, losses, sizes = [], [], []
    for tokens, answer in zip(valid.tokens.split(AT_ONCE), valid.answer.split(AT_ONCE), strict=True):
        tokens = tokens.to(device)
        guess = network(tokens[:, :-1]).argmax(-1).cpu()
        matches.append(((guess == tokens[:, 1:].cpu()) | ~answer[:, 1:]).all(1))
        losses.append(loss_of(network, tokens).item())
        sizes.append((tokens[:, 1:] != 0).sum().item())
    network.train()
    exact = torch.cat(matches).float()
    loss = sum(loss * size for loss, size in zip(losses, sizes, strict=True)) / sum(sizes)
    by_task = {name: exact[valid.task == number].mean().item() for number, name in enumerate(valid.names)}
    return {"loss": loss, "exact": exact.mean().item()} | by_task

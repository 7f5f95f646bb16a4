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
from .progress import progress
from .results import Row, plot_runs, write_results
from .schedule import warmup_cosine
from .study import listed, of_arm, run_all, spread
from .tasks import TABLE_3, TASKS

KNOWN = ARMS | CONTROLS
PAPER = {  # exact match %, sections 5.1 and 5.2; of B1 section 6.3
    "arithmetic": {
        "A0": 66.6,
        "A1": 80.0,
        "A2": 84.2,
        "A3": 77.0,
        "A4": 82.8,
        "A5": 25.2,
        "B1": 54.0,
    },
    "patterns": {"A0": 5.8, "A1": 5.6, "A2": 34.0, "A3": 8.8, "A4": 26.8, "A5": 3.0},
    "relations": {"A0": 60.6, "A1": 53.2, "A2": 36.2, "A3": 13.6, "A4": 17.6, "A5": 8.4},
    "inverse": {"A0": 99.8, "A1": 99.2, "A2": 99.6, "A3": 11.2, "A4": 99.6, "A5": 66.8},
    "logic": dict.fromkeys(ARMS, 100.0),
}
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
        rows, curves = run_all(out / "reasoning-runs.json", self, self._train)
        known = [task for task in self.tasks if task in PAPER]
        table = [
            {
                "arm": arm,
                "parameters": of_arm(rows, arm, "parameters")[0],
                "loss, nats per byte": spread(of_arm(rows, arm, "loss"), 4),
                "overfit ratio": spread(overfit_ratios(curves, arm), 3),
                **{
                    f"{task} %": spread([100 * exact for exact in of_arm(rows, arm, task)])
                    for task in self.tasks
                },
                **{f"paper: {task} %": PAPER[task].get(arm, "-") for task in known},
            }
            for arm in self.arms
        ]
        write_results(
            out / "reasoning",
            table,
            curves,
            NOTE.format(self, listed(self.tasks), listed(self.seeds)),
        )
        lines = PAPER[known[0]] if len(known) == len(self.tasks) == 1 else {}
        labels = "step", "exact match of held-out lines, %"
        plot_runs(
            out / "reasoning.png", curves, x="step", y="exact match %", labels=labels, lines=lines
        )
        return "; ".join(
            f"{row['arm']} loss {row['loss']:.3f}, exact {_progress(row, curves)}" for row in rows
        )

    def network(self, arm: str) -> Language:
        """Build an arm at this experiment's width, with whole quaternions in every head."""
        dropout: dict[str, Any] = {} if self.regularised else dict.fromkeys(REGULARISED, 0.0)
        return Language(replace(scaled(KNOWN[arm], self.width), **dropout))

    def _train(self, arm: str, seed: int, title: str) -> tuple[Row, list[Row]]:
        """Train an arm; return its validation with the lowest loss, and all validations."""
        train = corpus(self.tasks, self.train_per_task, self.length, seed)
        valid = corpus(self.tasks, self.valid_per_task, self.length, seed + 1_000_000)
        torch.manual_seed(seed)
        network = self.network(arm).to(self.device)
        decay = 0.05 if network.config.scan_dropout else 0.01  # Table 2
        optimizer = torch.optim.AdamW(network.parameters(), self.learning_rate, weight_decay=decay)
        schedule = warmup_cosine(optimizer, self.warmup, self.steps)
        found, curve = list[Row](), list[Row]()
        with progress(title, self.steps) as advance:
            for step in range(1, self.steps + 1):
                self._step(
                    network,
                    optimizer,
                    train.tokens[torch.randint(len(train.tokens), (self.batch,))],
                )
                schedule.step()
                advance()
                if step % max(1, self.steps // self.validations) == 0:
                    found.append(row := validate(network, valid, self.device))
                    curve.append(
                        {"step": step, "loss": row["loss"], "exact match %": 100 * row["exact"]}
                    )
        best = min(found, key=lambda row: (math.isnan(row["loss"]), row["loss"]))
        return {
            "parameters": sum(parameter.numel() for parameter in network.parameters())
        } | best, curve

    def _step(self, network: Language, optimizer: torch.optim.Optimizer, tokens: Tensor) -> None:
        optimizer.zero_grad()
        loss_of(network, tokens.to(self.device)).backward()
        if self.max_grad_norm:
            nn.utils.clip_grad_norm_(network.parameters(), self.max_grad_norm)
        optimizer.step()


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
    first = next(row["step"] for row in rows if row["exact match %"] >= 90 * run["exact"])
    return f"{run['exact']:.0%}, nine tenths of it by step {first}" if run["exact"] else "0%"


def overfit_ratios(curves: list[Row], arm: str) -> list[float]:
    """Return the last validation loss of every run of an arm, divided by the lowest (Table 5 of section 4.4)."""
    losses: dict[int, list[float]] = {}
    for row in curves:
        if row["arm"] == arm:
            losses.setdefault(row["seed"], []).append(row["loss"])
    return [found[-1] / min(found) for found in losses.values()]


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
                raise QseError(
                    f"length {length}: too short for the task {name}, a line of which has {len(line)} bytes"
                )
            if not long:
                rows.append((torch.tensor(list(line)), len(prompt) + 1, number))
    lines, starts, tasks = zip(*rows, strict=True)
    tokens = nn.utils.rnn.pad_sequence(list(lines), batch_first=True)
    after = torch.arange(tokens.shape[1]) >= torch.tensor(starts)[:, None]
    return Corpus(tokens, after & (tokens != 0), torch.tensor(tasks), names)


def loss_of(network: nn.Module, tokens: Tensor) -> Tensor:
    """Return the mean cross-entropy in nats of every byte after the first, padding left out."""
    logits, wanted = network(tokens[:, :-1]), tokens[:, 1:]
    return F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), ignore_index=0)


@torch.no_grad()
def validate(network: nn.Module, valid: Corpus, device: str = "cpu") -> Row:
    """Return {"loss", "exact", and the exact match of every task}."""
    network.eval()
    matches, losses, sizes = [], [], []
    for tokens, answer in zip(
        valid.tokens.split(AT_ONCE), valid.answer.split(AT_ONCE), strict=True
    ):
        tokens = tokens.to(device)
        guess = network(tokens[:, :-1]).argmax(-1).cpu()
        matches.append(((guess == tokens[:, 1:].cpu()) | ~answer[:, 1:]).all(1))
        losses.append(loss_of(network, tokens).item())
        sizes.append((tokens[:, 1:] != 0).sum().item())
    network.train()
    exact = torch.cat(matches).float()
    loss = sum(loss * size for loss, size in zip(losses, sizes, strict=True)) / sum(sizes)
    by_task = {
        name: exact[valid.task == number].mean().item() for number, name in enumerate(valid.names)
    }
    return {"loss": loss, "exact": exact.mean().item()} | by_task


NOTE = (
    "Exact match of validation lines at the validation with the lowest loss; overfit ratio: the last loss divided by "
    "the lowest. Tasks: {1}; {0.steps} steps of "
    "{0.batch} lines at {0.width} of the paper's width, seeds {2}. The paper trains one network on nine tasks, "
    "2,000 steps, five seeds. B1: A1 with four independent blocks in place of each Hamilton matrix, with as many "
    "parameters; the paper's B1 is 320 wide, where its A1 reaches 70.0 %."
)

"""Nine reasoning tasks and six architectures ("Q-Jamba", sections 4 and 5, Tables 3 and 4).

The small setting tests retrieval alone: a pure state space against the same with one layer of
attention.

Lines are bytes of "prompt=answer" and a line feed, padded with zeros. The loss is the cross-entropy
of every byte after the first; an answer matches if every byte of it, line feed included, is the
most likely one, as in greedy decoding. Training and validation lines are drawn independently. Some
tasks have few prompts (logic twelve, inverse 900), so that validation repeats training lines; copy
has 26^10.
"""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .base import OnDevice
from .fit import fit, warmup_cosine
from .networks.count import parameter_count
from .networks.language import ARMS, CONTROLS, REGULARISED, Language, scaled
from .plots import plot_runs
from .reasoning_corpus import Corpus, corpus
from .results import Row, write_results
from .study import arm_values, listed, mean_and_deviation, run_all
from .tasks import TABLE_3, TASKS

KNOWN = ARMS | CONTROLS
PAPER: dict[str, dict[str, float]] = {  # exact match %, sections 5.1 and 5.2; of B1 section 6.3
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
VALIDATION = 1_000_000  # added to the seed of the training lines


@dataclass(frozen=True)
class Reasoning(OnDevice):
    """Settings; FULL holds those of the paper.

    width: scales dim and feed of every arm. regularised: dropout in the arms of Table 2, C1.
    max_grad_norm: clip gradients to this norm; 0 for no clipping, as in the paper (the small
    setting has ten times its learning rate).
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

    FULL = {
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
    MAY_BE_ZERO = ("warmup", "max_grad_norm")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_known("arms", KNOWN)
        self.require_known("tasks", TASKS)

    def run(self, out: Path) -> str:
        rows, curves = run_all(out / "reasoning-runs.json", self, self._train)
        table: list[Row] = []
        for arm in self.arms:
            table.append(self._summary(arm, rows, curves))
        note = NOTE.format(self, listed(self.tasks), listed(self.seeds))
        write_results(out / "reasoning", table, curves, note)
        plot_runs(
            out / "reasoning.png",
            curves,
            x="step",
            y="exact match %",
            labels=("step", "exact match of held-out lines, %"),
            lines=PAPER.get(self.tasks[0]) if len(self.tasks) == 1 else None,
        )
        parts: list[str] = []
        for row in rows:
            course = _course(row, curves)
            parts.append(f"{row['arm']} loss {row['loss']:.3f}, exact {course}")
        return "; ".join(parts)

    def network(self, arm: str) -> Language:
        """Build an arm at this experiment's width, with whole quaternions in every head."""
        dropout: dict[str, Any] = {} if self.regularised else dict.fromkeys(REGULARISED, 0.0)
        return Language(replace(scaled(KNOWN[arm], self.width), **dropout))

    def _summary(self, arm: str, rows: list[Row], curves: list[Row]) -> Row:
        """Return the row of an arm, with the paper's values behind ours."""
        row = {
            "arm": arm,
            "parameters": arm_values(rows, arm, "parameters")[0],
            "loss, nats per byte": mean_and_deviation(arm_values(rows, arm, "loss"), 4),
            "overfit ratio": mean_and_deviation(overfit_ratios(curves, arm), 3),
        }
        for task in self.tasks:
            row[f"{task} %"] = mean_and_deviation(
                [100 * exact for exact in arm_values(rows, arm, task)]
            )
        for task in self.tasks:
            if task in PAPER:
                row[f"paper: {task} %"] = PAPER[task].get(arm, "-")
        return row

    def _train(self, arm: str, seed: int, title: str) -> tuple[Row, list[Row]]:
        """Train an arm; return its validation with the lowest loss, and all validations."""
        train = corpus(self.tasks, self.train_per_task, self.length, seed)
        valid = corpus(self.tasks, self.valid_per_task, self.length, seed + VALIDATION)
        torch.manual_seed(seed)
        network = self.network(arm).to(self.device)
        decay = 0.05 if network.config.scan_dropout else 0.01  # Table 2
        optimizer = torch.optim.AdamW(network.parameters(), self.learning_rate, weight_decay=decay)
        schedule = warmup_cosine(optimizer, self.warmup, self.steps)

        def loss_of_batch() -> Tensor:
            chosen = train.tokens[torch.randint(len(train.tokens), (self.batch,))]
            return loss_of(network, chosen.to(self.device))

        found: list[Row] = []
        curve: list[Row] = []
        every = max(1, self.steps // self.validations)
        training = fit(
            loss_of_batch,
            optimizer,
            self.steps,
            schedule=schedule,
            max_grad_norm=self.max_grad_norm,
            title=title,
        )
        for step, _ in training:
            if step % every == 0:
                row = validate(network, valid, self.device)
                found.append(row)
                exact = 100 * row["exact"]
                curve.append({"step": step, "loss": row["loss"], "exact match %": exact})
        best = min(found, key=lambda row: (math.isnan(row["loss"]), row["loss"]))
        return {"parameters": parameter_count(network)} | best, curve


def _course(run: Row, curves: list[Row]) -> str:
    """Return the exact match of a run, and the step at which it reached nine tenths of it."""
    if not run["exact"]:
        return "0%"
    for row in curves:
        same = (row["arm"], row["seed"]) == (run["arm"], run["seed"])
        if same and row["exact match %"] >= 90 * run["exact"]:
            break
    return f"{run['exact']:.0%}, nine tenths of it by step {row['step']}"


def overfit_ratios(curves: list[Row], arm: str) -> list[float]:
    """Return the last validation loss of every run of an arm, divided by the lowest (Table 5)."""
    losses: dict[int, list[float]] = {}
    for row in curves:
        if row["arm"] == arm:
            losses.setdefault(row["seed"], []).append(row["loss"])
    return [found[-1] / min(found) for found in losses.values()]


def loss_of(network: nn.Module, tokens: Tensor) -> Tensor:
    """Return the mean cross-entropy in nats of every byte after the first, padding left out."""
    logits = network(tokens[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=0)


@torch.no_grad()
def validate(network: nn.Module, valid: Corpus, device: str = "cpu") -> Row:
    """Return {"loss", "exact", and the exact match of every task}."""
    network.eval()
    matches: list[Tensor] = []
    loss = 0.0
    size = 0
    for start in range(0, len(valid.tokens), AT_ONCE):
        tokens = valid.tokens[start : start + AT_ONCE].to(device)
        answer = valid.answer[start : start + AT_ONCE]
        guess = network(tokens[:, :-1]).argmax(-1).cpu()
        right = guess == tokens[:, 1:].cpu()
        matches.append((right | ~answer[:, 1:]).all(1))
        count = int((tokens[:, 1:] != 0).sum())
        loss += loss_of(network, tokens).item() * count
        size += count
    network.train()
    exact = torch.cat(matches).float()
    row = {"loss": loss / size, "exact": exact.mean().item()}
    for number, name in enumerate(valid.names):
        row[name] = exact[valid.task == number].mean().item()
    return row


NOTE = (
    "Exact match of validation lines at the validation with the lowest loss; overfit ratio: the "
    "last loss divided by the lowest. Tasks: {1}; {0.steps} steps of {0.batch} lines at {0.width} "
    "of the paper's width, seeds {2}. The paper trains one network on nine tasks, 2,000 steps, "
    "five seeds. B1: A1 with four independent blocks in place of each Hamilton matrix, with as "
    "many parameters; the paper's B1 is 320 wide, where its A1 reaches 70.0 %."
)

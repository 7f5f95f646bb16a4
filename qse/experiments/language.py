"""Byte-level language modelling ("Q-Jamba", sections 5.2, 5.4 and 6.3): Table 3, the block-diagonal control, Table 5.

Compares the real Transformer (A0), Q-Linear (A1), a real one with as many parameters (A5), and A1 without coupling
between components (B1). `train` and `valid` are text files, read as bytes; a batch holds random windows of `train`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from ..errors import QseError, UsageError
from ..runtime.timing import race
from .networks.language import ARMS, CONTROLS, Language, scaled
from .progress import progress
from .results import Row, markdown, plot_runs, write_results, write_table
from .schedule import warmup_cosine
from .study import listed, of_arm, run_all, spread

KNOWN = ARMS | CONTROLS
PAPER = {"A0": 1.4588, "A1": 1.4569, "A5": 1.6676}  # nats per byte, Table 3
PAPER_LATENCY = {
    "A0": (28, 5.9),
    "A1": (33, 6.2),
    "A2": (203, 74.6),
    "A3": (177, "-"),
}  # ms, Table 5
CURVE = 10  # validations in a run


@dataclass(frozen=True)
class LanguageModelling:
    """Settings; FULL holds those of the paper, its steps taken from section 4.3.

    width: scales dim and feed of every arm. valid_bytes: how much of `valid` is scored. latency_arms: what is timed.
    """

    train: str = ""
    valid: str = ""
    arms: tuple[str, ...] = ("A0", "A1", "A5", "B1")
    width: float = 0.5
    length: int = 128
    valid_bytes: int = 65536
    steps: int = 600
    warmup: int = 50
    batch: int = 16
    learning_rate: float = 1e-3
    seeds: tuple[int, ...] = (42,)
    latency_arms: tuple[str, ...] = ("A0", "A1", "A2", "A3", "A5", "B1")
    latency_seconds: float = 3.0  # of timing, for each arm

    FULL: ClassVar[dict] = {
        "width": 1.0,
        "valid_bytes": 2**20,
        "steps": 2000,
        "warmup": 100,
        "batch": 64,
        "learning_rate": 3e-4,
        "seeds": [42, 123, 7],
    }

    def __post_init__(self) -> None:
        if set(self.arms + self.latency_arms) - set(KNOWN) or not self.arms:
            raise ValueError(
                f"arms = {list(self.arms + self.latency_arms)}: choose from {', '.join(KNOWN)}"
            )

    def run(self, out: Path) -> str:
        rows, curves = run_all(out / "language-runs.json", self, self._train)
        table = [
            {
                "arm": arm,
                "parameters": of_arm(rows, arm, "parameters")[0],
                "loss, nats per byte": spread(of_arm(rows, arm, "loss"), 4),
                "bits per byte": spread(
                    [loss / math.log(2) for loss in of_arm(rows, arm, "loss")], 3
                ),
                "paper: parameters": _parameters(Language(KNOWN[arm])),
                "paper: loss": PAPER.get(arm, "-"),
            }
            for arm in self.arms
        ]
        control = {
            "arm": "control: frequency of bytes",
            "loss, nats per byte": f"{self._unigram():.4f}",
        }
        table.append(dict.fromkeys(table[0], "-") | control)
        latency = self._latency() if self.latency_arms else []
        notes = [NOTE.format(self, listed(self.seeds))]
        notes += [markdown(latency), LATENCY.format(self)] if latency else []
        write_results(out / "language", table, curves, *notes)
        if latency:
            write_table(out / "language-latency.csv", latency)
        labels, lines = (
            ("step", "validation loss, nats per byte"),
            {a: PAPER[a] for a in self.arms if a in PAPER},
        )
        plot_runs(out / "language.png", curves, x="step", y="loss", labels=labels, lines=lines)
        return "; ".join(f"{row['arm']} {row['loss, nats per byte']} nats" for row in table)

    def network(self, arm: str) -> Language:
        """Build an arm at this experiment's width."""
        return Language(scaled(KNOWN[arm], self.width))

    @cached_property
    def _bytes(self) -> tuple[Tensor, Tensor]:
        """Return the bytes of `train`, and windows (N, length + 1) of `valid`."""
        if not (self.train and self.valid):
            raise UsageError(
                "this needs text: --set train=wikitext-2/train.txt --set valid=wikitext-2/valid.txt"
            )
        train, valid = (
            read_bytes(Path(path), self.length + 1) for path in (self.train, self.valid)
        )
        valid = valid[: self.valid_bytes]
        return train, valid[: len(valid) // (self.length + 1) * (self.length + 1)].view(
            -1, self.length + 1
        )

    def _train(self, arm: str, seed: int, title: str) -> tuple[Row, list[Row]]:
        torch.manual_seed(seed)
        train, valid = self._bytes
        network = self.network(arm)
        optimizer = torch.optim.AdamW(network.parameters(), self.learning_rate)
        schedule, curve = warmup_cosine(optimizer, self.warmup, self.steps), list[Row]()
        with progress(title, self.steps) as advance:
            for step in range(1, self.steps + 1):
                starts = torch.randint(len(train) - self.length, (self.batch,))
                _step(network, optimizer, train[starts[:, None] + torch.arange(self.length + 1)])
                schedule.step()
                advance()
                if step % max(1, self.steps // CURVE) == 0:
                    curve.append({"step": step, "loss": validation_loss(network, valid)})
        return {"parameters": _parameters(network), "loss": curve[-1]["loss"]}, curve

    def _unigram(self) -> float:
        """Return the cross-entropy of `valid` for the frequencies of bytes in `train`."""
        train, valid = self._bytes
        counts = torch.bincount(train, minlength=256) + 1.0
        return -(counts / counts.sum()).log()[valid[:, 1:]].mean().item()

    def _latency(self) -> list[Row]:
        """Return the times of a training step and of one sequence, per arm; all arms take turns."""
        networks = {arm: self.network(arm) for arm in self.latency_arms}
        tokens = torch.randint(256, (self.batch, self.length + 1))
        steps = {arm: _stepper(network, tokens) for arm, network in networks.items()}
        sequences = {
            arm: partial(_inferred, network, tokens[:1, :-1]) for arm, network in networks.items()
        }
        train, infer = (race(calls, self.latency_seconds, warmup=1) for calls in (steps, sequences))
        reference = infer[self.latency_arms[0]].quantile(0)
        return [
            {
                "arm": arm,
                "training, ms per step": f"{1000 * train[arm].quantile(0):.0f}",
                "inference, ms per sequence": f"{1000 * infer[arm].quantile(0):.1f}",
                f"ratio to {self.latency_arms[0]}": f"{infer[arm].quantile(0) / reference:.2f}",
                "paper: ms per step": PAPER_LATENCY.get(arm, ("-", "-"))[0],
                "paper: ms per sequence": PAPER_LATENCY.get(arm, ("-", "-"))[1],
            }
            for arm in self.latency_arms
        ]


def read_bytes(path: Path, least: int) -> Tensor:
    """Return the bytes of a file (N,) as int64. Raises QseError if it cannot be read or has fewer than `least`."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise QseError(
            f"{path}: cannot read this file ({error.strerror}); name a text file"
        ) from error
    if len(content) < least:
        raise QseError(f"{path}: {len(content)} bytes; this needs {least} at least")
    return torch.frombuffer(bytearray(content), dtype=torch.uint8).long()


@torch.no_grad()
def validation_loss(network: Language, windows: Tensor) -> float:
    """Return the mean cross-entropy in nats of every byte after the first of windows (N, L)."""
    network.eval()
    losses = [_loss(network, part).item() * len(part) for part in windows.split(64)]
    network.train()
    return sum(losses) / len(windows)


def _loss(network: Language, windows: Tensor) -> Tensor:
    return F.cross_entropy(network(windows[:, :-1]).flatten(0, 1), windows[:, 1:].flatten())


def _step(network: Language, optimizer: torch.optim.Optimizer, windows: Tensor) -> None:
    optimizer.zero_grad()
    _loss(network, windows).backward()
    optimizer.step()


def _stepper(network: Language, tokens: Tensor) -> Callable[[], None]:
    return partial(_step, network, torch.optim.AdamW(network.parameters(), 1e-6), tokens)


@torch.inference_mode()
def _inferred(network: Language, tokens: Tensor) -> Tensor:
    return network(tokens)


def _parameters(network: Language) -> int:
    return sum(parameter.numel() for parameter in network.parameters())


NOTE = (
    "{0.steps} steps of {0.batch} windows of {0.length} bytes at {0.width} of the paper's width, seeds {1}; "
    "{0.valid_bytes} bytes to validate. The paper trains on WikiText-2 in full. B1: A1 with four independent blocks in "
    "place of each Hamilton matrix, with as many parameters."
)
LATENCY = (
    "Fastest of the calls, all arms in turn, one thread; batch {0.batch}, {0.length} bytes, width {0.width}. The paper "
    "measures on an RTX 3060."
)

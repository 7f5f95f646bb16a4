"""Byte-level language modelling ("Q-Jamba", sections 5.2, 5.4 and 6.3).

Table 3, the block-diagonal control, Table 5. Compares the real Transformer (A0), Q-Linear (A1), a
real one with as many parameters (A5), and A1 without coupling between components (B1). `train` and
`valid` are text files, read as bytes; a batch holds random windows of `train`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from qse.errors import QseError, UsageError
from qse.runtime.timing import race

from .base import OnDevice, device_of
from .fit import fit, take_step, warmup_cosine
from .networks.count import parameter_count
from .networks.language import ARMS, CONTROLS, Language, scaled
from .plots import plot_runs
from .results import Row, markdown, summary, write_results, write_table
from .study import arm_values, known_of, listed, mean_and_deviation, run_all

KNOWN = ARMS | CONTROLS
PAPER = {"A0": 1.4588, "A1": 1.4569, "A5": 1.6676}  # nats per byte, Table 3
PAPER_LATENCY = {  # ms per step and per sequence, Table 5
    "A0": (28, 5.9),
    "A1": (33, 6.2),
    "A2": (203, 74.6),
    "A3": (177, "-"),
}
CURVE = 10  # validations in a run
AT_ONCE = 64  # windows of a validation


@dataclass(frozen=True)
class LanguageModelling(OnDevice):
    """Settings; FULL holds those of the paper, its steps taken from section 4.3.

    width: scales dim and feed of every arm. valid_bytes: how much of `valid` is scored.
    latency_arms: what is timed, on the CPU.
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

    FULL = {
        "width": 1.0,
        "valid_bytes": 2**20,
        "steps": 2000,
        "warmup": 100,
        "batch": 64,
        "learning_rate": 3e-4,
        "seeds": [42, 123, 7],
    }
    MAY_BE_ZERO = ("warmup",)
    FREE = (*OnDevice.FREE, "latency_arms", "latency_seconds")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_known("arms", KNOWN)
        if self.latency_arms:
            self.require_known("latency_arms", KNOWN)

    def run(self, out: Path) -> str:
        rows, curves = run_all(out / "language-runs.json", self, self._train)
        table = [_summary(arm, rows) for arm in self.arms]
        control = {
            "arm": "control: frequency of bytes",
            "loss, nats per byte": f"{self._unigram():.4f}",
        }
        table.append(dict.fromkeys(table[0], "-") | control)
        notes = [NOTE.format(self, listed(self.seeds))]
        if self.latency_arms:
            latency = self._latency()
            notes += [markdown(latency), LATENCY.format(self)]
            write_table(out / "language-latency.csv", latency)
        write_results(out / "language", table, curves, *notes)
        labels = ("step", "validation loss, nats per byte")
        lines = known_of(self.arms, PAPER)
        plot_runs(out / "language.png", curves, x="step", y="loss", labels=labels, lines=lines)
        return summary(table, "{arm} {loss, nats per byte} nats")

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
        size = self.length + 1
        train = read_bytes(Path(self.train), size)
        valid = read_bytes(Path(self.valid), size)[: self.valid_bytes]
        whole = len(valid) // size * size
        return train, valid[:whole].view(-1, size)

    def _train(self, arm: str, seed: int, title: str) -> tuple[Row, list[Row]]:
        torch.manual_seed(seed)
        train, valid = self._bytes
        network = self.network(arm).to(self.device)
        optimizer = torch.optim.AdamW(network.parameters(), self.learning_rate)
        schedule = warmup_cosine(optimizer, self.warmup, self.steps)
        places = torch.arange(self.length + 1)

        def loss_of_batch() -> Tensor:
            starts = torch.randint(len(train) - self.length, (self.batch,))
            return _loss(network, train[starts[:, None] + places].to(self.device))

        every = max(1, self.steps // CURVE)
        curve: list[Row] = []
        training = fit(loss_of_batch, optimizer, self.steps, schedule=schedule, title=title)
        for step, _ in training:
            if step % every == 0:
                curve.append({"step": step, "loss": validation_loss(network, valid)})
        return {"parameters": parameter_count(network), "loss": curve[-1]["loss"]}, curve

    def _unigram(self) -> float:
        """Return the cross-entropy of `valid` for the frequencies of bytes in `train`."""
        train, valid = self._bytes
        counts = torch.bincount(train, minlength=256) + 1.0
        return -(counts / counts.sum()).log()[valid[:, 1:]].mean().item()

    def _latency(self) -> list[Row]:
        """Return the times of a training step and of one sequence, per arm; all arms take turns."""
        tokens = torch.randint(256, (self.batch, self.length + 1))
        steps: dict[str, Callable[[], object]] = {}
        sequences: dict[str, Callable[[], object]] = {}
        for arm in self.latency_arms:
            network = self.network(arm)
            steps[arm] = _stepper(network, tokens)
            sequences[arm] = partial(_inferred, network, tokens[:1, :-1])
        train = race(steps, self.latency_seconds, warmup=1)
        infer = race(sequences, self.latency_seconds, warmup=1)
        first = self.latency_arms[0]
        rows: list[Row] = []
        for arm in self.latency_arms:
            fastest = infer[arm].quantile(0)
            per_step, per_sequence = PAPER_LATENCY.get(arm, ("-", "-"))
            rows.append(
                {
                    "arm": arm,
                    "training, ms per step": f"{1000 * train[arm].quantile(0):.0f}",
                    "inference, ms per sequence": f"{1000 * fastest:.1f}",
                    f"ratio to {first}": f"{fastest / infer[first].quantile(0):.2f}",
                    "paper: ms per step": per_step,
                    "paper: ms per sequence": per_sequence,
                }
            )
        return rows


def _summary(arm: str, rows: list[Row]) -> Row:
    losses = arm_values(rows, arm, "loss")
    bits = np.divide(losses, math.log(2)).tolist()
    return {
        "arm": arm,
        "parameters": arm_values(rows, arm, "parameters")[0],
        "loss, nats per byte": mean_and_deviation(losses, 4),
        "bits per byte": mean_and_deviation(bits, 3),
        "paper: parameters": parameter_count(Language(KNOWN[arm])),
        "paper: loss": PAPER.get(arm, "-"),
    }


def read_bytes(path: Path, least: int) -> Tensor:
    """Return the bytes of a file (N,) as int64.

    Raises QseError if it cannot be read or has fewer than `least`.
    """
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
    losses: list[float] = []
    for part in windows.split(AT_ONCE):
        losses.append(_loss(network, part.to(device_of(network))).item() * len(part))
    network.train()
    return sum(losses) / len(windows)


def _loss(network: Language, windows: Tensor) -> Tensor:
    return F.cross_entropy(network(windows[:, :-1]).flatten(0, 1), windows[:, 1:].flatten())


def _stepper(network: Language, tokens: Tensor) -> Callable[[], object]:
    """Return a call that takes one step of training."""
    optimizer = torch.optim.AdamW(network.parameters(), 1e-6)
    return lambda: take_step(_loss(network, tokens), optimizer)


@torch.inference_mode()
def _inferred(network: Language, tokens: Tensor) -> Tensor:
    return network(tokens)


NOTE = (
    "{0.steps} steps of {0.batch} windows of {0.length} bytes at {0.width} of the paper's width, "
    "seeds {1}; {0.valid_bytes} bytes to validate. The paper trains on WikiText-2 in full. B1: A1 "
    "with four independent blocks in place of each Hamilton matrix, with as many parameters."
)
LATENCY = (
    "Fastest of the calls, all arms in turn, one thread; batch {0.batch}, {0.length} bytes, width "
    "{0.width}. The paper measures on an RTX 3060."
)

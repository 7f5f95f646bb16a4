"""Sequence-to-sequence Transformers: mathematical language (Tay et al. 2019, section 4.4, Table 4), and text style
transfer (Zhang et al. 2021, section 5.3, Table 4).

Compares PHM layers with n = 1, 2, 4, 8, where n = 1 is the real network, and quaternion ones (full, partial). Without
`data` the task is arithmetic, drawn anew for each batch; with it, `data` is a folder of parallel text.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import torch
from torch.nn import functional as F

from .networks.text import TextConfig, matrix_parameters
from .networks.transducer import END, Transducer, greedy
from .progress import progress
from .results import Row, plot_runs, write_results
from .schedule import warmup_cosine
from .study import listed, of_arm, run_all, spread
from .transduction import Arithmetic, ParallelText, Transduction

ARMS = ("phm-1", "phm-2", "phm-4", "phm-8", "full", "partial")
PAPER_ARITHMETIC = {"phm-1": 76.1, "full": 78.9, "partial": 84.4}
PAPER_STYLE = {"phm-1": 11.65, "phm-2": 12.20, "phm-4": 12.42, "phm-8": 11.66}
CURVE = 10  # tests in a run


@dataclass(frozen=True)
class SequenceToSequence:
    """Settings; FULL holds those of the mathematical language. digits: of an operand; vocabulary, length: of text."""

    data: str = ""
    styles: tuple[str, str] = ("modern", "original")
    arms: tuple[str, ...] = ARMS
    digits: int = 2
    vocabulary: int = 8000
    length: int = 25
    dim: int = 64
    feed: int = 256
    heads: int = 4
    layers: int = 2
    dropout: float = 0.1
    steps: int = 2000
    warmup: int = 200
    batch: int = 64
    learning_rate: float = 1e-3
    test: int = 500
    seeds: tuple[int, ...] = (0,)

    FULL: ClassVar[dict] = {
        "digits": 3,
        "dim": 128,
        "feed": 512,
        "steps": 100000,
        "seeds": [0, 1, 2],
    }

    def __post_init__(self) -> None:
        for arm in self.arms:
            self.network(arm, 2)

    def run(self, out: Path) -> str:
        rows, curves = run_all(out / "sequence-runs.json", self, self._train)
        metric, paper = self._task.metric, PAPER_STYLE if self.data else PAPER_ARITHMETIC
        table = [
            {
                "network": arm,
                "parameters": of_arm(rows, arm, "parameters")[0],
                metric: spread(of_arm(rows, arm, metric)),
                f"paper, {metric}": paper.get(arm, "-"),
            }
            for arm in self.arms
        ]
        task = (
            " to ".join(self.styles) if self.data else f"operands of at most {self.digits} digits"
        )
        write_results(out / "sequence", table, curves, NOTE.format(self, task, listed(self.seeds)))
        labels = (
            "step",
            f"{metric} of held-out pairs" if self.data else f"{metric[:-2]}, held-out operands, %",
        )
        lines = {arm: value for arm, value in paper.items() if arm in self.arms}
        plot_runs(out / "sequence.png", curves, x="step", y=metric, labels=labels, lines=lines)
        return "; ".join(
            f"{row['network']} {metric} {row[metric]} ({row['parameters']:,})" for row in table
        )

    def network(self, arm: str, vocabulary: int) -> Transducer:
        """Build the untrained network of an arm; "phm-N" has PHM layers with n = N, phm-1 real ones."""
        kind, _, n = arm.partition("-")
        sizes = {"dim": self.dim, "feed": self.feed, "heads": self.heads, "layers": self.layers}
        kind = "real" if arm == "phm-1" else kind
        return Transducer(TextConfig(kind, int(n or 4), **sizes, dropout=self.dropout), vocabulary)

    @cached_property
    def _task(self) -> Transduction:
        if self.data:
            sizes = {"words": self.vocabulary, "length": self.length, "test": self.test}
            return ParallelText(Path(self.data), self.styles, **sizes)
        return Arithmetic(self.digits, self.test)

    def _train(self, arm: str, seed: int, title: str) -> tuple[Row, list[Row]]:
        torch.manual_seed(seed)
        generator = torch.Generator().manual_seed(seed)
        network = self.network(arm, self._task.vocabulary)
        optimizer = torch.optim.AdamW(network.parameters(), self.learning_rate)
        schedule = warmup_cosine(optimizer, self.warmup, self.steps)
        curve = list[Row]()
        with progress(title, self.steps) as advance:
            for step in range(1, self.steps + 1):
                loss = loss_of(network, *self._task.batch(self.batch, generator))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
                advance()
                if step % max(1, self.steps // CURVE) == 0:
                    curve.append(
                        {"step": step, "loss": loss.item(), self._task.metric: self._score(network)}
                    )
        matrices = matrix_parameters(network.encoder) + matrix_parameters(network.decoder)
        return {"parameters": matrices, self._task.metric: curve[-1][self._task.metric]}, curve

    def _score(self, network: Transducer) -> float:
        source, target = self._task.held_out()
        outputs = [
            row for part in source.split(100) for row in greedy(network, part, self._task.longest)
        ]
        return self._task.score(outputs, target)


def loss_of(network: Transducer, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Return the mean cross-entropy of the target (N, T), which ends with END, padding left out."""
    begin = torch.full_like(target[:, :1], END)
    logits = network(source, torch.cat([begin, target[:, :-1]], 1))
    return F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=0)


NOTE = (
    "Parameters of encoder and decoder without embeddings and norms. Task: {1}; {0.steps} steps of {0.batch} pairs, "
    "dim {0.dim}, {0.layers} layers each; {0.test} held-out pairs, greedy decoding; seeds {2}. The papers train "
    "longer: 100,000 steps for mathematical language, 10,000 of a 44 M network for text."
)

"""Sequence-to-sequence Transformers: mathematical language and text style transfer.

Tay et al. 2019, section 4.4, Table 4; Zhang et al. 2021, section 5.3, Table 4. Compares PHM layers
with n = 1, 2, 4, 8, where n = 1 is the real network, and quaternion ones (full, partial). Without
`data` the task is arithmetic, drawn anew for each batch; with it, `data` is a folder of parallel
text.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from .base import OnDevice
from .fit import fit, warmup_cosine
from .networks.text import TextConfig, matrix_parameters
from .networks.transducer import END, Transducer, greedy
from .plots import plot_runs
from .results import Row, summary, write_results
from .study import known_of, listed, run_all, table_by_arm
from .transduction import Arithmetic, ParallelText, Transduction

ARMS = ("phm-1", "phm-2", "phm-4", "phm-8", "full", "partial")
PAPER_ARITHMETIC = {"phm-1": 76.1, "full": 78.9, "partial": 84.4}
PAPER_STYLE = {"phm-1": 11.65, "phm-2": 12.20, "phm-4": 12.42, "phm-8": 11.66}
CURVE = 10  # tests in a run
AT_ONCE = 100  # pairs of a test


@dataclass(frozen=True)
class SequenceToSequence(OnDevice):
    """Settings; FULL holds those of the mathematical language.

    digits: of an operand; vocabulary, length: of text.
    """

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

    FULL = {
        "digits": 3,
        "dim": 128,
        "feed": 512,
        "steps": 100000,
        "seeds": [0, 1, 2],
    }
    MAY_BE_ZERO = ("warmup", "dropout")

    def __post_init__(self) -> None:
        super().__post_init__()
        for arm in self.arms:
            self.network(arm, 2)

    def run(self, out: Path) -> str:
        rows, curves = run_all(out / "sequence-runs.json", self, self._train)
        metric = self._task.metric
        paper = PAPER_STYLE if self.data else PAPER_ARITHMETIC
        table = table_by_arm(self.arms, rows, {metric: 2}, {f"paper, {metric}": paper})
        task = f"operands of at most {self.digits} digits"
        label = "exact match, held-out operands, %"
        if self.data:
            task = " to ".join(self.styles)
            label = f"{metric} of held-out pairs"
        write_results(out / "sequence", table, curves, NOTE.format(self, task, listed(self.seeds)))
        plot_runs(
            out / "sequence.png",
            curves,
            x="step",
            y=metric,
            labels=("step", label),
            lines=known_of(self.arms, paper),
        )
        return summary(table, f"{{network}} {metric} {{{metric}}} ({{parameters:,}})")

    def network(self, arm: str, vocabulary: int) -> Transducer:
        """Build the untrained network of an arm; "phm-N" has PHM layers, phm-1 real ones."""
        kind, _, n = arm.partition("-")
        kind = "real" if arm == "phm-1" else kind
        sizes: dict[str, Any] = {
            "dim": self.dim,
            "feed": self.feed,
            "heads": self.heads,
            "layers": self.layers,
        }
        config = TextConfig(kind, int(n or 4), **sizes, dropout=self.dropout)
        return Transducer(config, vocabulary)

    @cached_property
    def _task(self) -> Transduction:
        if not self.data:
            return Arithmetic(self.digits, self.test)
        sizes = {"words": self.vocabulary, "length": self.length, "test": self.test}
        return ParallelText(Path(self.data), self.styles, **sizes)

    def _train(self, arm: str, seed: int, title: str) -> tuple[Row, list[Row]]:
        torch.manual_seed(seed)
        generator = torch.Generator().manual_seed(seed)
        network = self.network(arm, self._task.vocabulary).to(self.device)
        optimizer = torch.optim.AdamW(network.parameters(), self.learning_rate)
        schedule = warmup_cosine(optimizer, self.warmup, self.steps)

        def loss_of_batch() -> Tensor:
            source, target = self._task.batch(self.batch, generator)
            return loss_of(network, source.to(self.device), target.to(self.device))

        metric = self._task.metric
        every = max(1, self.steps // CURVE)
        curve: list[Row] = []
        training = fit(loss_of_batch, optimizer, self.steps, schedule=schedule, title=title)
        for step, loss in training:
            if step % every == 0:
                curve.append({"step": step, "loss": loss, metric: self._score(network)})
        matrices = matrix_parameters(network.encoder) + matrix_parameters(network.decoder)
        return {"parameters": matrices, metric: curve[-1][metric]}, curve

    def _score(self, network: Transducer) -> float:
        source, target = self._task.held_out()
        outputs: list[list[int]] = []
        for part in source.split(AT_ONCE):
            outputs += greedy(network, part.to(self.device), self._task.longest)
        return self._task.score(outputs, target)


def loss_of(network: Transducer, source: Tensor, target: Tensor) -> Tensor:
    """Return the mean cross-entropy of the target (N, T), which ends with END, without padding."""
    begin = torch.full_like(target[:, :1], END)
    logits = network(source, torch.cat([begin, target[:, :-1]], 1))
    return F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=0)


NOTE = (
    "Parameters of encoder and decoder without embeddings and norms. Task: {1}; {0.steps} steps of "
    "{0.batch} pairs, dim {0.dim}, {0.layers} layers each; {0.test} held-out pairs, greedy "
    "decoding; seeds {2}. The papers train longer: 100,000 steps for mathematical language, 10,000 "
    "of a 44 M network for text."
)

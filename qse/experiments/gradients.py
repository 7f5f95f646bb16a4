"""Gradient norms of attention scores (Yamauchi et al. 2026, Theorem C.3, Proposition C.4, Tables 6 to 8 and 14).

For random input, compares ||dL/dS|| of shared scores with ||dL/dS_a|| of the four scores of Hamilton attention, and
correlates the latter over trials. Beside each correlation: its 95 % interval, and the size that 95 % of uncorrelated
samples stay below (with 100 trials 0.20, so that the paper's entries "< 1e-3" are below the sampling error).

Sources of weights: `random`, new weights in each trial; `fixed`, one random layer; with `model`, each Hamilton
attention of a trained network. Controls: `shuffled`, the norms of `fixed`, each component from a different trial;
`trained, pooled`, the trials of all trained layers together, which differ in size and thereby correlate.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor

from ..errors import UsageError
from ..nn.attention import Projections
from .attention_capture import load_speech_network, projections
from .attention_gradients import LOSSES, component_score_gradients, shared_score_gradients
from .gradient_tables import (
    NORMS,
    NOTES,
    correlation_rows,
    correlation_table,
    norm_row,
    plot_ratios,
    ratio_table,
)
from .progress import progress
from .results import Row, plot_matrices, write_markdown, write_table
from .study import run_all

VARIATION_TRIALS = 5
TRAINED = "trained, "  # begins the names of the layers of `model`
POOLED = f"{TRAINED}pooled"
ALIGNED = "sum, equal components of V"  # a control of the variations: contributions of the components are aligned


@dataclass(frozen=True)
class Gradients:
    """Settings; FULL holds those of Table 6, which gives neither heads nor loss.

    channels: quaternions of a token (16 are 64 reals). scale: standard deviation of the input. loss: of the outputs O,
    mean_square, target (mean squared distance from random targets) or sum. score_scale: factor of all scores.
    score_scales: those of the variations, which take every loss. model: folder of a trained network with Hamilton
    attention (qtransformer-hamilton).
    """

    batch: int = 4
    tokens: int = 64
    channels: int = 16
    heads: int = 4
    qk_norm: bool = False
    trials: int = 40
    scale: float = 0.1
    loss: str = "target"
    score_scale: float = 1.0
    score_scales: tuple[float, ...] = (1.0, 10.0, 100.0, 1000.0, 10000.0)
    arms: tuple[str, ...] = ("random", "fixed")
    model: str = ""
    seeds: tuple[int, ...] = (0,)

    FULL: ClassVar[dict] = {"batch": 32, "tokens": 128, "trials": 100}

    def __post_init__(self) -> None:
        if self.loss not in LOSSES:
            raise ValueError(f"loss {self.loss!r}: choose one of {', '.join(LOSSES)}")
        if self.trials < 4:
            raise ValueError(f"trials = {self.trials}: a correlation needs at least 4")
        if {arm for arm in self.arms if not (self.model and arm.startswith(TRAINED))} - {
            "random",
            "fixed",
        }:
            raise ValueError(
                f"arms = {list(self.arms)}: choose among random, fixed; `model` adds trained layers"
            )

    def run(self, out: Path) -> str:
        sources = replace(self, arms=(*self.arms, *self._trained))
        _, trials = run_all(out / "gradients-runs.json", sources, self._trials)
        write_table(out / "gradients-trials.csv", trials)
        norms = {
            (arm, seed): torch.tensor(
                [
                    [row[key] for key in NORMS]
                    for row in trials
                    if (row["arm"], row["seed"]) == (arm, seed)
                ]
            )
            for seed in self.seeds
            for arm in sources.arms
        }
        deviation = max(row["deviation"] for row in trials)
        table = [norm_row(source, values) for source, values in norms.items()]
        for seed in self.seeds if "fixed" in self.arms else ():
            parts = norms["fixed", seed].unbind(1)
            norms["shuffled", seed] = torch.stack([part.roll(n) for n, part in enumerate(parts)], 1)
        for seed in self.seeds if len(self._trained) > 1 else ():
            norms[POOLED, seed] = torch.cat([norms[arm, seed] for arm in self._trained])
        pairs = [
            row for source, values in norms.items() for row in correlation_rows(source, values)
        ]
        ratios = self._variations()
        write_table(out / "gradients-norms.csv", table)
        write_table(out / "gradients-correlations.csv", pairs)
        write_table(out / "gradients-ratios.csv", ratios)
        closed = NOTES[1].format(deviation)
        notes = (
            NOTES[0].format(self),
            closed,
            correlation_table(pairs),
            NOTES[2],
            ratio_table(ratios),
            NOTES[3],
        )
        write_markdown(out / "gradients.md", [*table, norm_row(None, torch.empty(0))], *notes)
        first = {name: values for (name, seed), values in norms.items() if seed == self.seeds[0]}
        matrices = {
            name: torch.corrcoef(values[:, 1:].T.double()) for name, values in first.items()
        }
        plot_matrices(out / "gradients.png", matrices, labels=NORMS[1:])
        plot_ratios(out / "gradients-ratios.png", ratios)
        return "; ".join(_line(row, pairs) for row in table)

    def _layer(self) -> Projections:
        return Projections(self.channels, self.heads, self.qk_norm)

    @cached_property
    def _trained(self) -> dict[str, Projections]:
        """Return the layers of the trained network by name."""
        if not self.model:
            return {}
        kind, network = load_speech_network(Path(self.model))
        if kind != "hamilton":
            raise UsageError(
                f"model={self.model}: no Hamilton attention in it; name a qtransformer-hamilton"
            )
        return {TRAINED + name: layer for name, layer in projections(network).items()}

    def _trials(self, arm: str, seed: int, title: str) -> tuple[Row, list[Row]]:
        """Return the gradient norms of all trials with one source of weights."""
        torch.manual_seed(seed)
        layer: Callable[[], Projections] = self._layer
        if arm != "random":
            one = self._trained.get(arm) or self._layer()
            layer = lambda: one  # noqa: E731
        rows = []
        with progress(title, self.trials) as advance:
            for trial in range(self.trials):
                rows.append(
                    {"trial": trial}
                    | self._trial(self._signals(layer()), self.loss, self.score_scale)
                )
                advance()
        return {}, rows

    def _signals(self, layer: Projections) -> tuple[Tensor, Tensor, Tensor]:
        """Return q, k, v of one random input."""
        x = self.scale * torch.randn(self.batch, self.tokens, 4, layer.linear.weight.shape[2])
        with torch.no_grad():
            q, k, v = (part.unflatten(-1, (4, -1)) for part in layer(x))
        return q, k, v

    def _trial(self, signals: tuple[Tensor, Tensor, Tensor], loss: str, score_scale: float) -> Row:
        """Return the gradient norms, and how far the closed forms deviate from automatic differentiation."""
        form = (
            partial(shared_score_gradients, *signals),
            partial(component_score_gradients, *signals),
        )
        shared, components = (gradients(LOSSES[loss], score_scale) for gradients in form)
        norms = [shared.gradient.norm(), *(part.norm() for part in components.gradient.unbind(2))]
        deviation = max(shared.deviation, components.deviation)
        return {key: norm.item() for key, norm in zip(NORMS, norms, strict=True)} | {
            "deviation": deviation
        }

    def _variations(self) -> list[Row]:
        """Return shared / sum for each loss and score scale, with random weights; and of aligned contributions."""
        torch.manual_seed(self.seeds[0])
        rows = []
        with progress("variations", (len(LOSSES) + 1) * len(self.score_scales)) as advance:
            for loss in (*LOSSES, ALIGNED):
                for factor in self.score_scales:
                    ratios = []
                    for _ in range(VARIATION_TRIALS):
                        q, k, v = self._signals(self._layer())
                        v = v[..., :1, :].expand_as(v) if loss == ALIGNED else v
                        row = self._trial((q, k, v), "sum" if loss == ALIGNED else loss, factor)
                        ratios.append(row["shared"] / sum(row[key] for key in NORMS[1:]))
                    rows.append(
                        {
                            "loss": loss,
                            "score scale": factor,
                            "shared / sum": sum(ratios) / len(ratios),
                        }
                    )
                    advance()
        return rows


def _line(row: Row, pairs: list[Row]) -> str:
    found = [pair for pair in pairs if pair["weights"] == row["weights"]]
    mean = sum(pair["r"] for pair in found) / len(found)
    ratio, chance = row["shared / sum"], found[0]["chance"]
    return f"{row['weights']}: shared / sum {ratio:.2f}, mean correlation {mean:.3f} (chance ±{chance:.2f})"

"""Gradient norms of attention scores.

Yamauchi et al. 2026, Theorem C.3, Proposition C.4, Tables 6 to 8 and 14. For random input, compares
||dL/dS|| of shared scores with ||dL/dS_a|| of the four scores of Hamilton attention, and correlates
the latter over trials. Beside each correlation: its 95 % interval, and the size that 95 % of
uncorrelated samples stay below (with 100 trials 0.20, so that the paper's entries "< 1e-3" are
below the sampling error).

Sources of weights: `random`, new weights in each trial; `fixed`, one random layer; with `model`,
each Hamilton attention of a trained network. Controls: `shuffled`, the norms of `fixed`, each
component from a different trial; `trained, pooled`, the trials of all trained layers together,
which differ in size and thereby correlate.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import itemgetter
from pathlib import Path

import torch
from torch import Tensor

from qse.errors import UsageError
from qse.nn.attention import Projections

from .attention_capture import load_speech_network, projections
from .attention_gradients import LOSSES, component_score_gradients, shared_score_gradients
from .base import OnDevice
from .gradient_tables import (
    NORMS,
    NOTES,
    Source,
    correlation_rows,
    correlation_table,
    norm_row,
    paper_norm_row,
    plot_ratios,
    ratio_table,
)
from .plots import plot_matrices
from .progress import progress
from .results import Row, column, distinct, rows_with, write_markdown, write_table
from .study import run_all

VARIATION_TRIALS = 5
KNOWN = ("random", "fixed")
TRAINED = "trained, "  # begins the names of the layers of `model`
POOLED = f"{TRAINED}pooled"
ALIGNED = "sum, equal components of V"  # a control: contributions of the components are aligned


@dataclass(frozen=True)
class Gradients(OnDevice):
    """Settings; FULL holds those of Table 6, which gives neither heads nor loss.

    channels: quaternions of a token (16 are 64 reals). scale: standard deviation of the input.
    loss: of the outputs O, mean_square, target (mean squared distance from random targets) or sum.
    score_scale: factor of all scores. score_scales: those of the variations, which take every loss.
    model: folder of a trained network with Hamilton attention (qtransformer-hamilton).
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
    arms: tuple[str, ...] = KNOWN
    model: str = ""
    seeds: tuple[int, ...] = (0,)

    FULL = {"batch": 32, "tokens": 128, "trials": 100}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.loss not in LOSSES:
            raise ValueError(f"loss {self.loss!r}: choose one of {', '.join(LOSSES)}")
        if self.trials < 4:
            raise ValueError(f"trials = {self.trials}: a correlation needs at least 4")
        for arm in self.arms:
            if arm not in KNOWN and not (self.model and arm.startswith(TRAINED)):
                raise ValueError(
                    f"arms = {list(self.arms)}: choose among random, fixed; "
                    "`model` adds trained layers"
                )

    def run(self, out: Path) -> str:
        sources = replace(self, arms=(*self.arms, *self._trained))
        _, trials = run_all(out / "gradients-runs.json", sources, self._trials)
        write_table(out / "gradients-trials.csv", trials)
        norms = _norms(trials)
        table = list(map(norm_row, norms, norms.values()))
        norms |= self._controls(norms)
        pairs: list[Row] = []
        for source, values in norms.items():
            pairs += correlation_rows(source, values)
        ratios = self._variations()
        write_table(out / "gradients-norms.csv", table)
        write_table(out / "gradients-correlations.csv", pairs)
        write_table(out / "gradients-ratios.csv", ratios)
        notes = (
            NOTES[0].format(self),
            NOTES[1].format(max(column(trials, "deviation"))),
            correlation_table(pairs),
            NOTES[2],
            ratio_table(ratios),
            NOTES[3],
        )
        write_markdown(out / "gradients.md", [*table, paper_norm_row()], *notes)
        self._plot(out / "gradients.png", norms)
        plot_ratios(out / "gradients-ratios.png", ratios)
        return "; ".join(map(partial(_line, pairs), table))

    def _controls(self, norms: dict[Source, Tensor]) -> dict[Source, Tensor]:
        """Return the norms of the controls `shuffled` and `trained, pooled` of every seed."""
        controls: dict[Source, Tensor] = {}
        for seed in self.seeds if "fixed" in self.arms else ():
            parts: list[Tensor] = []
            for number, part in enumerate(norms["fixed", seed].unbind(1)):
                parts.append(part.roll(number))
            controls["shuffled", seed] = torch.stack(parts, 1)
        for seed in self.seeds if len(self._trained) > 1 else ():
            controls[POOLED, seed] = torch.cat([norms[arm, seed] for arm in self._trained])
        return controls

    def _plot(self, path: Path, norms: dict[Source, Tensor]) -> None:
        """Draw the correlations of the first seed."""
        matrices: dict[str, Tensor] = {}
        for (name, seed), values in norms.items():
            if seed == self.seeds[0]:
                matrices[name] = torch.corrcoef(values[:, 1:].T.double())
        plot_matrices(path, matrices, labels=NORMS[1:])

    def _layer(self) -> Projections:
        return Projections(self.channels, self.heads, self.qk_norm).to(self.device)

    @cached_property
    def _trained(self) -> dict[str, Projections]:
        """Return the layers of the trained network by name."""
        if not self.model:
            return {}
        kind, network = load_speech_network(Path(self.model), self.device)
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
        rows: list[Row] = []
        with progress(title, self.trials) as advance:
            for trial in range(self.trials):
                found = self._trial(self._signals(layer()), self.loss, self.score_scale)
                rows.append({"trial": trial} | found)
                advance()
        return {}, rows

    def _signals(self, layer: Projections) -> tuple[Tensor, Tensor, Tensor]:
        """Return q, k, v of one random input."""
        x = self.scale * torch.randn(self.batch, self.tokens, 4, layer.linear.weight.shape[2])
        with torch.no_grad():
            q, k, v = layer(x.to(self.device))
        size = (4, -1)
        return q.unflatten(-1, size), k.unflatten(-1, size), v.unflatten(-1, size)

    def _trial(self, signals: tuple[Tensor, Tensor, Tensor], loss: str, score_scale: float) -> Row:
        """Return the gradient norms, and how far the closed forms are from differentiation."""
        shared = shared_score_gradients(*signals, LOSSES[loss], score_scale)
        components = component_score_gradients(*signals, LOSSES[loss], score_scale)
        gradients = [shared.gradient, *components.gradient.unbind(2)]
        row: Row = {}
        for key, gradient in zip(NORMS, gradients, strict=True):
            row[key] = gradient.norm().item()
        return row | {"deviation": max(shared.deviation, components.deviation)}

    def _variations(self) -> list[Row]:
        """Return shared / sum for each loss and score scale, with random weights.

        The last loss is the control with aligned contributions.
        """
        torch.manual_seed(self.seeds[0])
        rows: list[Row] = []
        with progress("variations", (len(LOSSES) + 1) * len(self.score_scales)) as advance:
            for loss in (*LOSSES, ALIGNED):
                for factor in self.score_scales:
                    total = 0.0
                    for _ in range(VARIATION_TRIALS):
                        total += self._ratio(loss, factor)
                    mean = total / VARIATION_TRIALS
                    rows.append({"loss": loss, "score scale": factor, "shared / sum": mean})
                    advance()
        return rows

    def _ratio(self, loss: str, score_scale: float) -> float:
        """Return shared / sum of a new random layer."""
        q, k, v = self._signals(self._layer())
        if loss == ALIGNED:
            v = v[..., :1, :].expand_as(v)
            loss = "sum"
        row = self._trial((q, k, v), loss, score_scale)
        return row["shared"] / sum(itemgetter(*NORMS[1:])(row))


def _norms(trials: list[Row]) -> dict[Source, Tensor]:
    """Return the norms (trials, 5) by source of weights."""
    norms: dict[Source, Tensor] = {}
    for arm, seed in distinct(trials, "arm", "seed"):
        chosen = rows_with(trials, arm=arm, seed=seed)
        norms[arm, seed] = torch.tensor([itemgetter(*NORMS)(row) for row in chosen])
    return norms


def _line(pairs: list[Row], row: Row) -> str:
    """Return the ratio of norms and the mean correlation of a source of weights."""
    found = rows_with(pairs, weights=row["weights"])
    correlations = column(found, "r")
    mean = sum(correlations) / len(correlations)
    chance = found[0]["chance"]
    return (
        f"{row['weights']}: shared / sum {row['shared / sum']:.2f}, "
        f"mean correlation {mean:.3f} (chance ±{chance:.2f})"
    )

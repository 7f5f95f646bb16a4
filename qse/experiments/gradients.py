"""Gradient norms of attention scores (Yamauchi et al. 2026, Theorem C.3, Proposition C.4, Tables 6 to 8 and 14).

For random input, compares ||dL/dS|| of shared scores with ||dL/dS_a|| of the four scores of Hamilton attention, and
correlates the latter over trials. Beside each correlation: its 95 % interval, and the size that 95 % of uncorrelated
samples stay below (with 100 trials 0.19, so that the paper's entries "< 1e-3" are below the sampling error).

Sources of weights: `random`, new weights in each trial; `fixed`, one random layer; with `model`, each Hamilton
attention of a trained network. Control: `shuffled`, the norms of `fixed`, each component from a different trial.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor

from ..errors import UsageError
from ..model_folder import weights_of
from ..nn.attention import Projections
from ..nn.hamilton import HamiltonAttention
from .attention_gradients import LOSSES, component_score_gradients, shared_score_gradients
from .results import Row, plot_matrices, write_markdown, write_table
from .statistics import correlation

NORMS = ("shared", "S0", "S1", "S2", "S3")


@dataclass(frozen=True)
class Gradients:
    """Settings; FULL holds those of Table 6, which gives neither heads nor loss.

    channels: quaternions of a token (16 are 64 reals). scale: standard deviation of the input. loss: of the outputs O,
    mean_square, target (mean squared distance from random targets) or sum. model: folder of a trained network with
    Hamilton attention (qtransformer-hamilton).
    """

    batch: int = 4
    tokens: int = 64
    channels: int = 16
    heads: int = 4
    qk_norm: bool = False
    trials: int = 40
    scale: float = 0.1
    loss: str = "target"
    model: str = ""
    seed: int = 0

    FULL: ClassVar[dict] = {"batch": 32, "tokens": 128, "trials": 100}

    def __post_init__(self) -> None:
        if self.loss not in LOSSES:
            raise ValueError(f"loss {self.loss!r}: choose one of {', '.join(LOSSES)}")
        if self.trials < 4:
            raise ValueError(f"trials = {self.trials}: a correlation needs at least 4")

    def run(self, out: Path) -> str:
        torch.manual_seed(self.seed)
        layers = {"random": self._layer, "fixed": _always(self._layer())} | self._trained()
        trials = {source: [self._trial(layer()) for _ in range(self.trials)] for source, layer in layers.items()}
        write_table(
            out / "gradients-trials.csv",
            [{"weights": source, "trial": n} | row for source, rows in trials.items() for n, row in enumerate(rows)],
        )
        norms = {source: torch.tensor([[row[key] for key in NORMS] for row in rows]) for source, rows in trials.items()}
        table = [_norm_row(source, norms[source], trials[source]) for source in norms]
        norms["shuffled"] = torch.stack([part.roll(n) for n, part in enumerate(norms["fixed"].unbind(1))], 1)
        pairs = [row for source, values in norms.items() for row in _correlation_rows(source, values)]
        write_table(out / "gradients-norms.csv", table)
        write_table(out / "gradients-correlations.csv", pairs)
        write_markdown(out / "gradients.md", table, *NOTES, _correlation_table(pairs))
        matrices = {source: torch.corrcoef(values[:, 1:].T.double()) for source, values in norms.items()}
        plot_matrices(out / "gradients.png", matrices, labels=NORMS[1:])
        return "; ".join(_line(row, pairs) for row in table)

    def _layer(self) -> Projections:
        return Projections(self.channels, self.heads, self.qk_norm)

    def _trained(self) -> dict[str, Callable[[], Projections]]:
        if not self.model:
            return {}
        from ..networks.weights import load_network

        folder = Path(self.model)
        network, _ = load_network(folder / "config.toml", weights_of(folder))
        parts = {n: part.project for n, part in network.named_modules() if isinstance(part, HamiltonAttention)}
        if not parts:
            raise UsageError(f"model={self.model}: no Hamilton attention in it; name a qtransformer-hamilton")
        return {name: _always(project) for name, project in parts.items()}

    def _trial(self, layer: Projections) -> Row:
        """Return the gradient norms of one random input, and how far the closed forms deviate."""
        x = self.scale * torch.randn(self.batch, self.tokens, 4, layer.linear.weight.shape[2])
        with torch.no_grad():
            q, k, v = (part.unflatten(-1, (4, -1)) for part in layer(x))
        loss = LOSSES[self.loss]
        shared, components = shared_score_gradients(q, k, v, loss), component_score_gradients(q, k, v, loss)
        norms = [shared.gradient.norm(), *(part.norm() for part in components.gradient.unbind(2))]
        deviation = max(shared.deviation, components.deviation)
        return {key: norm.item() for key, norm in zip(NORMS, norms, strict=True)} | {"deviation": deviation}


NOTES = (
    "Norms: mean ± standard deviation over trials. shared / sum: the norm of shared scores over the sum of the four "
    "norms of Hamilton attention. With equal softmax outputs it is 1 if the contributions of the components are "
    "aligned, and 0.5 if they are orthogonal and equal.",
    "closed form: largest relative deviation of Eqs. 66 and 67 from automatic differentiation.",
)


def _always(layer: Projections) -> Callable[[], Projections]:
    return lambda: layer


def _norm_row(source: str, norms: Tensor, trials: list[Row]) -> Row:
    """Return the row of Table 7 for one source of weights."""
    mean, std = norms.mean(0), norms.std(0)
    cells = {key: f"{m:.3g} ± {s:.1g}" for key, m, s in zip(NORMS, mean.tolist(), std.tolist(), strict=True)}
    ratio = (norms[:, 0] / norms[:, 1:].sum(1)).mean().item()
    return {"weights": source, **cells, "shared / sum": ratio, "closed form": max(row["deviation"] for row in trials)}


def _correlation_rows(source: str, norms: Tensor) -> Iterator[Row]:
    """Yield a row of Table 8 per pair of components."""
    for a, b in combinations(range(4), 2):
        found = correlation(norms[:, 1 + a], norms[:, 1 + b])
        yield {"weights": source, "pair": f"{a}-{b}", **vars(found)}


def _correlation_table(pairs: list[Row]) -> str:
    """Return a Markdown table with a line per source of weights, a column per pair."""
    names = list(dict.fromkeys(row["pair"] for row in pairs))
    lines = [["weights", *names, "chance"], ["---"] * (len(names) + 2)]
    for source in dict.fromkeys(row["weights"] for row in pairs):
        rows = [row for row in pairs if row["weights"] == source]
        cells = [f"{row['r']:.3f} ({row['low']:.2f} to {row['high']:.2f})" for row in rows]
        lines.append([source, *cells, f"±{rows[0]['chance']:.2f}"])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _line(row: Row, pairs: list[Row]) -> str:
    found = [pair for pair in pairs if pair["weights"] == row["weights"]]
    mean = sum(pair["r"] for pair in found) / len(found)
    ratio, chance = row["shared / sum"], found[0]["chance"]
    return f"{row['weights']} weights: shared / sum {ratio:.2f}, mean correlation {mean:.3f} (chance ±{chance:.2f})"

"""Attention of trained text networks: agreement of components and similarity of outputs (Yamauchi et al. 2026).

Section 5: Eq. 20, Tables 4, 10 and 11 (agreement), Figures 3 and 4, Table 5 (outputs of shared scores and of Hamilton
attention). Networks are those of `sentiment`, arms shared and full, trained on SST-2 with two seeds. Controls: networks
with random weights, the same kind with another seed, and uniform attention, that is plain averaging of the values.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import ClassVar

import torch
from torch import Tensor

from ..nn.hamilton import component_scores
from .agreement import agreement_rows
from .networks.text import TextAttention, TextClassifier, attention_weights, dot_product_scores, weighted_values
from .results import Row, markdown, write_markdown, write_table
from .sentiment import Sentiment
from .statistics import correlation, ks_statistic, quantile_correlation, wasserstein

Signals = tuple[Tensor, Tensor, Tensor]  # q, k, v of an attention layer, each (N, H, L, 4, d)
Scores = Callable[[Tensor, Tensor], Tensor]

FORMULAS: dict[str, Scores] = {
    "shared": dot_product_scores,
    "hamilton": component_scores,
    "uniform": lambda q, k: torch.zeros_like(dot_product_scores(q, k)),
}
KINDS = {"shared": "shared", "hamilton": "full"}  # formula -> arm of `sentiment`
TOPS = (1, 5)


@dataclass(frozen=True)
class AttentionAnalysis:
    """Settings; FULL holds the sizes of appendix E.2. texts: sentences of `valid` that are analysed."""

    train: str = ""
    valid: str = ""
    dim: int = 64
    feed: int = 256
    heads: int = 4
    layers: int = 2
    vocabulary: int = 8000
    length: int = 64
    epochs: int = 1
    batch: int = 32
    learning_rate: float = 1e-3
    texts: int = 200
    seeds: tuple[int, ...] = (0, 1)

    FULL: ClassVar[dict] = {"dim": 128, "feed": 512, "epochs": 20, "learning_rate": 3e-4, "texts": 872}

    def __post_init__(self) -> None:
        if len(self.seeds) != 2:
            raise ValueError(f"seeds = {list(self.seeds)}: the comparison needs two")
        self._sentiment()

    def run(self, out: Path) -> str:
        networks, tokens = self._networks()
        seen = tokens != 0
        signals = {name: attention_inputs(network, tokens) for name, network in networks.items()}
        rates = [row for name in signals if "hamilton" in name for row in _agreement(name, signals[name], seen)]
        write_table(out / "attention-agreement.csv", rates)
        summary = [_agreement_summary(rates, name, top) for top in TOPS for name in dict.fromkeys(_names(rates))]
        outputs = [*_trained_apart(signals, seen, self.seeds), *_same_inputs(signals, seen, self.seeds[0])]
        write_table(out / "attention-outputs.csv", outputs)
        write_markdown(out / "attention-analysis.md", summary, NOTE_AGREEMENT, markdown(outputs), NOTE_OUTPUTS)
        first, apart = summary[0], outputs[0]
        return (
            f"{first['weights']}: top-1 agreement {first['agreement %']} % (chance {first['chance %']}, "
            f"marginal {first['marginal %']}); {apart['outputs']}: quantile correlation "
            f"{apart['quantile correlation']:.4f}, correlation {apart['correlation']:.3f}"
        )

    def _sentiment(self) -> Sentiment:
        names = ("train", "valid", "dim", "feed", "heads", "layers", "vocabulary", "length", "epochs", "batch")
        shared = {name: getattr(self, name) for name in names}
        return Sentiment(arms=("shared", "full"), learning_rate=self.learning_rate, **shared)

    def _networks(self) -> tuple[dict[str, TextClassifier], Tensor]:
        """Train both kinds with both seeds; return them and untrained ones by name, and the tokens (N, L)."""
        sentiment, networks = self._sentiment(), {}
        words, train, valid = sentiment.examples()
        for kind, arm in KINDS.items():
            for seed in self.seeds:
                torch.manual_seed(seed)
                network = sentiment.network(arm, words)
                sentiment.fit(network, train, valid)
                networks[f"{kind}, seed {seed}"] = network.eval()
            torch.manual_seed(self.seeds[0])
            networks[f"{kind}, random weights"] = sentiment.network(arm, words).eval()
        return networks, valid[0][0][: self.texts]


@torch.no_grad()
def attention_inputs(network: TextClassifier, tokens: Tensor) -> list[Signals]:
    """Return q, k, v of every attention layer for the tokens (N, L)."""
    found: list[Signals] = []

    def record(module: TextAttention, arguments: tuple[Tensor, Tensor]) -> None:
        q, k, v = module.queries_keys_values(arguments[0])
        found.append((q, k, v))

    hooks = [m.register_forward_pre_hook(record) for m in network.modules() if isinstance(m, TextAttention)]
    network(tokens)
    for hook in hooks:
        hook.remove()
    return found


def outputs_of(formula: str, signals: list[Signals], seen: Tensor) -> Tensor:
    """Return the outputs of all layers for tokens that are no padding, by one of FORMULAS, as one vector."""
    outputs = [weighted_values(FORMULAS[formula](q, k), v, seen) for q, k, v in signals]  # each N, H, L, 4, d
    return torch.cat([y.permute(0, 2, 1, 3, 4)[seen].flatten() for y in outputs])


def _agreement(name: str, signals: list[Signals], seen: Tensor) -> Iterator[Row]:
    for layer, (q, k, _) in enumerate(signals):
        weights = attention_weights(component_scores(q, k), seen)
        for top in TOPS:
            yield from ({"weights": name, "layer": layer} | row for row in agreement_rows(weights, seen, top))


def _names(rows: list[Row]) -> Iterator[str]:
    return (row["weights"] for row in rows)


def _agreement_summary(rows: list[Row], name: str, top: int) -> Row:
    """Return the row of Tables 4 and 11: mean and standard deviation over layers, heads and pairs."""
    chosen = [row for row in rows if (row["weights"], row["top"]) == (name, top)]
    rates = [100 * row["agreement"] for row in chosen]
    by_pair = {
        pair: f"{mean(100 * row['agreement'] for row in chosen if row['pair'] == pair):.2f}"
        for pair in dict.fromkeys(row["pair"] for row in chosen)
    }
    others = {f"{key} %": f"{100 * mean(row[key] for row in chosen):.2f}" for key in ("chance", "marginal")}
    return {"weights": name, "top": top, **by_pair, "agreement %": f"{mean(rates):.2f} ± {stdev(rates):.2f}"} | others


def _trained_apart(signals: dict[str, list[Signals]], seen: Tensor, seeds: tuple[int, ...]) -> Iterator[Row]:
    """Yield the rows of Table 5 and Figure 4 (a): outputs of two networks for the same texts.

    Networks of one seed begin with the same weights for both kinds of scores; independent ones have different seeds.
    """
    first, second = seeds
    comparisons = [
        (f"shared, seed {first}", f"hamilton, seed {second}"),
        (f"shared, seed {first}", f"hamilton, seed {first}"),
        (f"shared, seed {first}", f"shared, seed {second}"),
        (f"hamilton, seed {first}", f"hamilton, seed {second}"),
        ("shared, random weights", "hamilton, random weights"),
        (f"shared, seed {first}", "shared, random weights"),
    ]
    for a, b in comparisons:
        x, y = (outputs_of(name.partition(",")[0], signals[name], seen) for name in (a, b))
        yield {"outputs": f"{a} / {b}", **_similarity(x, y)}


def _same_inputs(signals: dict[str, list[Signals]], seen: Tensor, seed: int) -> Iterator[Row]:
    """Yield the rows of Figure 4 (b) and (c): two formulas for the same q, k, v."""
    names = [f"{kind}, {which}" for which in (f"seed {seed}", "random weights") for kind in KINDS]
    for name in names:
        outputs = {formula: outputs_of(formula, signals[name], seen) for formula in FORMULAS}
        for a, b in (("shared", "hamilton"), ("shared", "uniform"), ("hamilton", "uniform")):
            yield {"outputs": f"q, k, v of {name}: {a} / {b}", **_similarity(outputs[a], outputs[b])}


def _similarity(x: Tensor, y: Tensor) -> Row:
    return {
        "KS": ks_statistic(x, y),
        "Wasserstein": wasserstein(x, y),
        "quantile correlation": quantile_correlation(x, y),
        "correlation": correlation(x, y).r,
    }


NOTE_AGREEMENT = (
    "Agreement of the K keys with the largest weight, over layers, heads and pairs of components. chance: K / T. "
    "marginal: agreement for keys drawn as often as each component chooses them in that text, but independently."
)
NOTE_OUTPUTS = (
    "A quantile correlation near 1 means that two distributions have the same shape, not that two outputs are alike. "
    "Compare with the rows of random weights, of another seed, and of uniform attention. Networks of one seed begin "
    "with the same weights, which correlates their outputs; so do those with random weights."
)

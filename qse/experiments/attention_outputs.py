"""Similarity of attention outputs (Yamauchi et al. 2026, section 5.2, Table 5, Figures 3 and 4).

Outputs are those after softmax and product with the values, before the output layer, of all layers together.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import torch
from torch import Tensor

from .attention_capture import FORMULAS, Layers
from .results import Row
from .statistics import correlation, ks_statistic, quantile_correlation, wasserstein

MOST = 500_000  # numbers of an output that the statistics use, drawn at random
PAPER = {  # similarity of Table 5 of independently trained networks
    "text": {"KS": 0.0407, "Wasserstein": 0.0927, "quantile correlation": 0.9961},
    "speech": {
        "KS": 0.0128,
        "Wasserstein": 0.0280,
        "quantile correlation": 0.9953,
        "correlation": 0.028,
    },
}
PAPER_SAME = {
    "shared": 0.78,
    "hamilton": 0.88,
}  # Figure 4 (b, c), on speech: the network that q, k, v come from
KINDS = tuple(PAPER_SAME)


def output(inputs: Sequence[Layers], formula: str) -> Tensor:
    """Return the output of all layers for all inputs by one of FORMULAS, or a part of it, as one vector."""
    return _drawn(
        torch.cat([signals.output(formula) for layers in inputs for signals in layers.values()])
    )


def trained_apart(captured: Mapping[str, Sequence[Layers]], domain: str) -> Iterator[Row]:
    """Yield a row per pair of networks; the names in `captured` begin with the kind of scores.

    The first row is the paper's comparison: the first shared and the last Hamilton network.
    """
    outputs = {name: output(inputs, name.partition(",")[0]) for name, inputs in captured.items()}
    trained = {
        kind: [n for n in outputs if n.startswith(kind) and "random" not in n] for kind in KINDS
    }
    pairs = [(trained["shared"][0], trained["hamilton"][-1])] if all(trained.values()) else []
    pairs += [(a, b) for a, b in zip(*trained.values(), strict=False) if (a, b) not in pairs]
    pairs += [pair for names in trained.values() for pair in combinations(names, 2)]
    pairs += [(names[0], f"{kind}, random weights") for kind, names in trained.items() if names]
    if all(trained.values()):
        pairs.append(("shared, random weights", "hamilton, random weights"))
    for number, (a, b) in enumerate(pairs):
        apart = number == 0 and all(trained.values())
        yield {
            "outputs": f"{a} / {b}",
            **similarity(outputs[a], outputs[b]),
            **_paper(PAPER[domain] if apart else {}),
        }


def same_inputs(captured: Mapping[str, Sequence[Layers]], domain: str) -> Iterator[Row]:
    """Yield a row per network and pair of formulas, applied to the same q, k, v."""
    for name, inputs in captured.items():
        outputs = {formula: output(inputs, formula) for formula in FORMULAS}
        for a, b in combinations(FORMULAS, 2):
            known = domain == "speech" and "random" not in name and "uniform" not in (a, b)
            paper = {"correlation": PAPER_SAME[name.partition(",")[0]]} if known else {}
            yield {
                "outputs": f"q, k, v of {name}: {a} / {b}",
                **similarity(outputs[a], outputs[b]),
                **_paper(paper),
            }


def similarity(x: Tensor, y: Tensor) -> Row:
    """Return the statistics of Table 5 and Pearson's correlation of two outputs."""
    return {
        "KS": ks_statistic(x, y),
        "Wasserstein": wasserstein(x, y),
        "quantile correlation": quantile_correlation(x, y),
        "correlation": correlation(x, y).r,
    }


def _paper(values: Mapping[str, float]) -> Row:
    return {"paper": ", ".join(f"{key} {value:g}" for key, value in values.items())}


def _drawn(x: Tensor) -> Tensor:
    """Return MOST numbers of a longer vector, from the same places for vectors of one length."""
    if len(x) <= MOST:
        return x
    return x[torch.randint(len(x), (MOST,), generator=torch.Generator().manual_seed(0))]

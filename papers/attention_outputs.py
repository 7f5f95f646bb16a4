"""Similarity of attention outputs (Yamauchi et al. 2026, section 5.2, Table 5, Figures 3 and 4).

Outputs are those after softmax and product with the values, before the output layer, of all layers
together.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
PAPER_SAME = {"shared": 0.78, "hamilton": 0.88}  # Figure 4 (b, c), speech: source of q, k, v
KINDS = tuple(PAPER_SAME)


def output(inputs: Sequence[Layers], formula: str) -> Tensor:
    """Return the output of all layers for all inputs by one of FORMULAS, as one vector.

    Of a longer one than MOST, MOST numbers.
    """
    parts: list[Tensor] = []
    for layers in inputs:
        for signals in layers.values():
            parts.append(signals.output(formula))
    return _drawn(torch.cat(parts))


def trained_apart(captured: Mapping[str, Sequence[Layers]], domain: str) -> Iterator[Row]:
    """Yield a row per pair of networks; the names in `captured` begin with the kind of scores.

    The first row is the paper's comparison: the first shared and the last Hamilton network.
    """
    outputs = {name: output(inputs, kind_of(name)) for name, inputs in captured.items()}
    shared = trained_networks(outputs, "shared")
    hamilton = trained_networks(outputs, "hamilton")
    both = bool(shared and hamilton)

    pairs: list[tuple[str, str]] = []
    if both:
        pairs.append((shared[0], hamilton[-1]))
    for pair in zip(shared, hamilton, strict=False):
        if pair not in pairs:
            pairs.append(pair)
    for names in (shared, hamilton):
        pairs += combinations(names, 2)
    for names in (shared, hamilton):
        if names:
            pairs.append((names[0], f"{kind_of(names[0])}, random weights"))
    if both:
        pairs.append(("shared, random weights", "hamilton, random weights"))

    for number, (a, b) in enumerate(pairs):
        paper = PAPER[domain] if both and number == 0 else {}
        found = similarity(outputs[a], outputs[b])
        yield {"outputs": f"{a} / {b}", **found, **_paper(paper)}


def same_inputs(captured: Mapping[str, Sequence[Layers]], domain: str) -> Iterator[Row]:
    """Yield a row per network and pair of formulas, applied to the same q, k, v."""
    for name, inputs in captured.items():
        outputs = {formula: output(inputs, formula) for formula in FORMULAS}
        for a, b in combinations(FORMULAS, 2):
            known = domain == "speech" and "random" not in name and "uniform" not in (a, b)
            paper = {"correlation": PAPER_SAME[kind_of(name)]} if known else {}
            found = similarity(outputs[a], outputs[b])
            yield {"outputs": f"q, k, v of {name}: {a} / {b}", **found, **_paper(paper)}


def trained_networks(names: Iterable[str], kind: str) -> list[str]:
    """Return the names of the trained networks of a kind of scores."""
    return [name for name in names if kind_of(name) == kind and "random" not in name]


def kind_of(name: str) -> str:
    """Return the kind of scores with which the name of a network begins."""
    return name.partition(",")[0]


def similarity(x: Tensor, y: Tensor) -> Row:
    """Return the statistics of Table 5 and Pearson's correlation of two outputs."""
    return {
        "KS": ks_statistic(x, y),
        "Wasserstein": wasserstein(x, y),
        "quantile correlation": quantile_correlation(x, y),
        "correlation": correlation(x, y).r,
    }


def _paper(values: Mapping[str, float]) -> Row:
    texts: list[str] = []
    for key, value in values.items():
        texts.append(f"{key} {value:g}")
    return {"paper": ", ".join(texts)}


def _drawn(x: Tensor) -> Tensor:
    """Return MOST numbers of a longer vector, from the same places for vectors of one length."""
    if len(x) <= MOST:
        return x
    return x[torch.randint(len(x), (MOST,), generator=torch.Generator().manual_seed(0))]

"""Agreement of the components of Hamilton attention (Yamauchi et al. 2026, Eq. 20, Tables 4, 10 and 11).

Attention weights are (N, H, 4, L, L), `seen` (N, L) is False for padding. Components agree by chance more
often than K / T if many queries attend to the same keys; `marginal` measures this chance agreement.
"""

from collections.abc import Iterator
from itertools import combinations

import torch
from torch import Tensor

from .results import Row

PAIRS = tuple(combinations(range(4), 2))


def agreement_rows(weights: Tensor, seen: Tensor, top: int) -> Iterator[Row]:
    """Yield a row per head and pair of components: agreement, chance, marginal, each a mean over queries.

    agreement: share of the `top` keys with the largest weight that two components have in common; for top = 1 it is
    Eq. 20. chance: K / T for T tokens, K = min(top, T). marginal: the agreement of a component with another one's keys
    for a random query of the same text.
    """
    found: dict[tuple[int, int, int], list[Tensor]] = {}
    for text, valid in zip(weights, seen, strict=True):
        chosen, tokens = top_keys(text[..., valid, :][..., valid], top), int(valid.sum())
        used = min(top, tokens)
        for a, b in PAIRS:
            common = (chosen[:, a] & chosen[:, b]).sum(-1) / used  # H, T
            marginal = (chosen[:, a].double().mean(1) * chosen[:, b].double().mean(1)).sum(-1) / used  # H
            for head in range(len(common)):
                values = [common[head].mean(), torch.tensor(used / tokens), marginal[head]]
                found.setdefault((head, a, b), []).append(tokens * torch.stack([value.double() for value in values]))
    queries = seen.sum()
    for (head, a, b), sums in found.items():
        agreement, chance, marginal = (torch.stack(sums).sum(0) / queries).tolist()
        names = {"head": head, "pair": f"{a}-{b}", "top": top}
        yield names | {"agreement": agreement, "chance": chance, "marginal": marginal}


def top_keys(weights: Tensor, top: int) -> Tensor:
    """Return True at the `top` keys with the largest weight of each query: (..., L, L) -> the same."""
    places = weights.topk(min(top, weights.shape[-1]), -1).indices
    return torch.zeros_like(weights, dtype=torch.bool).scatter(-1, places, True)

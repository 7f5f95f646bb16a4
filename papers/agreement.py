"""Agreement of the components of Hamilton attention.

Yamauchi et al. 2026, Eq. 20, Tables 4, 10 and 11. Attention weights are (N, H, 4, L, L): sequences,
heads, components, queries, keys. `seen` (N, L) is False for padding. Components agree by chance
more often than K / T if many queries attend to the same keys; `marginal` measures this chance
agreement.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor

from .results import Row

PAIRS = tuple(combinations(range(4), 2))
FIRST, SECOND = map(list, zip(*PAIRS, strict=True))


@dataclass(frozen=True)
class Agreement:
    """Sums over queries for each head and pair of components, (H, 6, 3).

    The three are agreement, chance and marginal. agreement: share of the K keys with the largest
    weight that two components have in common; for K = 1 it is Eq. 20. chance: K / T for T tokens,
    what keys drawn at random have in common on average. marginal: the agreement of a component with
    another one's keys for a random query of the same sequence.
    """

    sums: Tensor
    queries: int

    def __add__(self, other: "Agreement") -> "Agreement":
        return Agreement(self.sums + other.sums, self.queries + other.queries)

    def rows(self) -> Iterator[Row]:
        """Yield a row per head and pair: the three values as means over queries."""
        for head, pairs in enumerate((self.sums / self.queries).tolist()):
            for (a, b), (agreement, chance, marginal) in zip(PAIRS, pairs, strict=True):
                names = {"head": head, "pair": f"{a}-{b}"}
                yield names | {"agreement": agreement, "chance": chance, "marginal": marginal}


def agreement(weights: Tensor, seen: Tensor, top: int) -> Agreement:
    """Compare the keys of the components; with fewer than `top` tokens, K is their number."""
    tokens = seen.sum(1)
    used = tokens.clamp_max(top)[:, None, None].double()  # K: N, 1, 1
    chosen = top_keys(weights, seen, top)
    common = (chosen[:, :, FIRST] & chosen[:, :, SECOND]).sum((-2, -1)) / used  # N, H, 6

    counts = chosen.sum(-2).double()  # how many queries choose a key: N, H, 4, L
    products = (counts[:, :, FIRST] * counts[:, :, SECOND]).sum(-1)
    marginal = products / (used * tokens[:, None, None])
    sums = torch.stack([common, used.expand_as(common), marginal], -1).sum(0)
    return Agreement(sums, int(tokens.sum()))


def top_keys(weights: Tensor, seen: Tensor, top: int) -> Tensor:
    """Return True at the `top` keys with the largest weight of each query: (N, H, 4, L, L).

    Padding is left out.
    """
    keys = seen[:, None, None, None, :]
    queries = seen[:, None, None, :, None]
    places = weights.masked_fill(~keys, -torch.inf).topk(min(top, weights.shape[-1]), -1).indices
    return torch.zeros_like(weights, dtype=torch.bool).scatter(-1, places, True) & keys & queries

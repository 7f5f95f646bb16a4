"""Draw the random choices of a batch, and audio from a corpus.

Choices (which file, how loud) are small and drawn on the CPU; audio is gathered on the corpus's
device.

Glossary: B rows of audio, P pieces (one utterance each) that are laid into rows.
"""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

import torch
from torch import Tensor

from ..torch_device import uploaded
from .corpus import Corpus

Item = TypeVar("Item")
SHORT_PAUSE = (0.05, 0.4)
"""Seconds of silence between two utterances."""


def step_seed(seed: int, rank: int, step: int, purpose: str) -> int:
    """Return a seed of 63 bits: the same for the same arguments, unrelated for others."""
    described = f"{seed}/{rank}/{step}/{purpose}"
    digest = hashlib.blake2b(described.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


class BatchRng:
    """Draw the random numbers of one batch: the same for the same (seed, rank, step), unrelated for
    others."""

    def __init__(self, seed: int, rank: int, step: int, device: torch.device) -> None:
        self.device = device
        self._choices = torch.Generator().manual_seed(step_seed(seed, rank, step, "choices"))
        self._samples = torch.Generator(device).manual_seed(step_seed(seed, rank, step, "samples"))

    def uniform(self, low: float | Tensor, high: float | Tensor, *shape: int) -> Tensor:
        """Draw uniformly from [low, high): float32 on the CPU."""
        return low + (high - low) * torch.rand(shape, generator=self._choices)

    def below(self, limit: Tensor) -> Tensor:
        """Draw an integer in [0, limit) for each entry of `limit` (>= 1): int64 on the CPU."""
        draw = torch.rand(limit.shape, generator=self._choices, dtype=torch.float64)
        return (draw * limit).long()

    def pick(self, weights: Tensor | Sequence[float], count: int) -> Tensor:
        """Draw `count` indices with probability ~ weights (along the last axis): int64 (..., count)
        on the CPU."""
        weights = torch.as_tensor(weights, dtype=torch.float32)
        return torch.multinomial(weights, count, replacement=True, generator=self._choices)

    def coin(self, chance: float, count: int) -> Tensor:
        """Draw bool (count,) on the CPU, True with probability `chance`."""
        return torch.rand(count, generator=self._choices) < chance

    def items(self, chance: float, count: int) -> Tensor:
        """Draw which of `count` items something applies to, each with probability `chance`: their
        indices, int64."""
        return torch.nonzero(self.coin(chance, count)).flatten()

    def draw(self, range_: tuple[float, float], *shape: int) -> Tensor:
        """Draw uniformly from a range: float32 on the device."""
        return uploaded(self.uniform(*range_, *shape), self.device)

    def white(self, *shape: int) -> Tensor:
        """Draw white noise of variance 1 on the device."""
        return torch.randn(shape, generator=self._samples, device=self.device)


def shuffled(items: Sequence[Item], seed: int) -> list[Item]:
    """Return the items in an order that depends on their number and the seed only."""
    order = BatchRng(seed, 0, 0, torch.device("cpu")).uniform(0, 1, len(items)).argsort()
    return [items[place] for place in order.tolist()]


class CorpusSampler:
    """Draw audio from a corpus: first a group, then a recording of the group.

    balance: a group is drawn with probability ~ (its duration) ** balance.
    """

    def __init__(self, corpus: Corpus, balance: float) -> None:
        self.corpus = corpus
        groups = len(corpus.names)
        self.weights = (
            torch.zeros(groups).index_add_(0, corpus.groups, corpus.lengths.float()) ** balance
        )
        self.sizes = torch.bincount(corpus.groups, minlength=groups)
        self.firsts = self.sizes.cumsum(0) - self.sizes
        self.fade = max(1, corpus.sample_rate // 200)
        self.overlap = max(1, corpus.sample_rate // 50)

    def groups(self, rng: BatchRng, count: int) -> Tensor:
        """Draw `count` groups: int64 on the CPU."""
        return rng.pick(self.weights, count)

    def other_groups(self, rng: BatchRng, groups: Tensor) -> Tensor:
        """Draw a group for each entry of `groups`, another one than that
        (unless there is only one)."""
        weights = self.weights.repeat(len(groups), 1)
        if len(self.weights) > 1:
            weights.scatter_(1, groups[:, None], 0.0)
        return rng.pick(weights, 1).flatten()

    def spoken(
        self,
        rng: BatchRng,
        groups: Tensor,
        samples: int,
        lead: Tensor | None = None,
        slow: Tensor | None = None,
        pause: tuple[float, float] = SHORT_PAUSE,
    ) -> Tensor:
        """Fill each row with utterances of its group, with short pauses in between: float32
        (B, samples).

        lead: samples of silence before the first one, int64 (B,); where 0 a row begins within an
        utterance. slow: bool (B,), rows whose pauses have their length in seconds from the range
        `pause`.
        """
        cursor = torch.zeros_like(groups) if lead is None else lead.clone()
        # (B, 2)
        limits = torch.tensor(SHORT_PAUSE).repeat(len(groups), 1) * self.corpus.sample_rate
        if slow is not None:
            limits[slow] = torch.tensor(pause) * self.corpus.sample_rate
        rows, pieces = self._place(rng, groups, cursor, limits, samples)
        start, length, position = uploaded(pieces, rng.device)
        audio = self.corpus.excerpts(start, length, position, samples, self.fade)
        out = torch.zeros(len(groups), samples, device=rng.device)
        return out.index_add_(0, uploaded(rows, rng.device), audio)

    def _place(
        self, rng: BatchRng, groups: Tensor, cursor: Tensor, limits: Tensor, samples: int
    ) -> tuple[Tensor, Tensor]:
        """Draw pieces and places: row (P,) and (start, length, position) (3, P) of each piece."""
        rows = []
        pieces = []
        while True:
            unfilled = torch.nonzero(cursor < samples).flatten()
            if not unfilled.numel():
                break
            place = cursor[unfilled]
            files = self._files(rng, groups[unfilled])
            length = self.corpus.lengths[files]
            surplus = (length - (samples - place)).clamp_min(0)
            skip = rng.below(
                torch.where(place == 0, torch.maximum(surplus, length // 2), surplus) + 1
            )
            rows.append(unfilled)
            pieces.append(torch.stack([self.corpus.starts[files] + skip, length - skip, place]))
            pause = rng.uniform(limits[unfilled, 0], limits[unfilled, 1], len(unfilled)).long()
            cursor[unfilled] += length - skip + pause + 1
        return torch.cat(rows), torch.cat(pieces, dim=1)

    def looped(self, rng: BatchRng, groups: Tensor, samples: int) -> Tensor:
        """Fill each row with a recording of its group from a random moment: float32 (B, samples).

        A recording that is too short repeats in a cross-fade or, half of the time, after a gap.
        """
        files = self._files(rng, groups)
        length = self.corpus.lengths[files]
        seamless = (length - self.overlap).clamp_min(1)
        gapped = length + rng.below(torch.full_like(length, self.corpus.sample_rate // 2))
        period = torch.where((length < samples) & rng.coin(0.5, len(files)), gapped, seamless)
        values = torch.stack([self.corpus.starts[files], length, period, rng.below(period)])
        start, length, period, offset = uploaded(values, rng.device)
        return self.corpus.loops(start, length, period, offset, samples, self.overlap)

    def _files(self, rng: BatchRng, groups: Tensor) -> Tensor:
        return self.firsts[groups] + rng.below(self.sizes[groups])

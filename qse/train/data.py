"""Data: from two corpora to batches of (noisy, clean) segments, mixed on the fly.

    speech -> speed -> tone -> gain -> room ─┬─> early part ──────────────────────────> clean
                                             └─> + noise at an SNR -> soft clip ──────> noisy
    noise  -> speed -> tone -> gain ─────────────┘         (band limit and level: the same for both)

A batch is a pure function of (seed, rank, step): a resumed run sees the numbers of an uninterrupted one.
All sample-wise work happens on the corpora's device; only the choices (which file, how loud) are drawn on the CPU.

Glossary: B items of a batch, N samples of a segment, R rows of noise to be summed into items.
"""

import hashlib
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from qse.train import augment
from qse.train.corpus import Corpus

__all__ = ["Corpus", "MixConfig", "Mixer"]

Range = tuple[float, float]


@dataclass(frozen=True)
class MixConfig:
    """How segments are mixed: every range is drawn uniformly, every `_chance` is the share of items that get it."""

    sample_rate: int = 16000
    segment: float = 2.0
    """Seconds of audio per item."""
    snr: Range = (-5.0, 20.0)
    """dB, speech against all noise together, levels over active frames."""
    level: Range = (-40.0, 0.0)
    """Peak of the noisy segment in dBFS."""
    group_balance: float = 0.5
    """A group is drawn with probability ~ (its seconds) ** group_balance: 0 = all groups alike, 1 = by duration."""
    noises: tuple[float, ...] = (0.6, 0.3, 0.1)
    """Probability of 1, 2, 3, ... recordings of noise at once."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, list):
                object.__setattr__(self, field.name, tuple(value))
            if field.name.endswith("_chance") and not 0 <= value <= 1:
                raise ValueError(f"{field.name} must lie between 0 and 1, not {value}.")
            if field.type == "Range" or field.type is Range:
                low, high = value
                if low > high:
                    raise ValueError(f"{field.name} = [{low}, {high}] runs backwards; write the smaller value first.")

    @property
    def samples(self) -> int:
        """Samples per segment."""
        return round(self.segment * self.sample_rate)


class Dice:
    """The random choices of one batch: the same for the same (seed, rank, step), unrelated for others."""

    def __init__(self, seed: int, rank: int, step: int, device: torch.device) -> None:
        digest = hashlib.blake2b(f"{seed}/{rank}/{step}".encode(), digest_size=8).digest()
        number = int.from_bytes(digest, "little") >> 1
        self.device = device
        self._choices = torch.Generator().manual_seed(number)
        self._samples = torch.Generator(device).manual_seed(number)

    def uniform(self, low: float | Tensor, high: float | Tensor, *shape: int) -> Tensor:
        """Uniform in [low, high): float32 on the CPU."""
        return low + (high - low) * torch.rand(shape, generator=self._choices)

    def below(self, limit: Tensor) -> Tensor:
        """A whole number in [0, limit) for each entry of `limit` (>= 1): int64 on the CPU."""
        draw = torch.rand(limit.shape, generator=self._choices, dtype=torch.float64)
        return (draw * limit).long().clamp_max(limit - 1)

    def pick(self, weights: Tensor, count: int) -> Tensor:
        """`count` indices drawn with probability ~ weights: int64 on the CPU."""
        return torch.multinomial(weights, count, replacement=True, generator=self._choices)

    def coin(self, chance: float, count: int) -> Tensor:
        """bool (count,) on the CPU, True with probability `chance`."""
        return torch.rand(count, generator=self._choices) < chance

    def gaussian(self, *shape: int) -> Tensor:
        """White noise of variance 1 on the device."""
        return torch.randn(shape, generator=self._samples, device=self.device)


class Mixer:
    """Draws batches from a corpus of speech and one of noise.

    seed: int; batches of two seeds have nothing in common.
    device: where batches are made; both corpora are moved there.
    """

    def __init__(
        self, config: MixConfig, speech: Corpus, noise: Corpus, seed: int = 0, device: torch.device | str = "cpu"
    ) -> None:
        for name, corpus in (("speech", speech), ("noise", noise)):
            if corpus.sample_rate != config.sample_rate:
                raise ValueError(f"{name} corpus at {corpus.sample_rate} Hz, config at {config.sample_rate} Hz")
        self.config, self.seed, self.device = config, seed, torch.device(device)
        self.speech, self.noise = Shelf(speech.to(device), config), Shelf(noise.to(device), config)

    @torch.no_grad()
    def batch(self, step: int, size: int, rank: int = 0) -> tuple[Tensor, Tensor]:
        """(noisy, clean) of batch number `step` on process `rank`: float32 (size, samples) each, on the device."""
        config, dice = self.config, Dice(self.seed, rank, step, self.device)
        n = config.samples
        clean = self.speech.spoken(dice, self.speech.draw_groups(dice, size), n)
        noise = self.noise.looped(dice, self.noise.draw_groups(dice, size), n)
        noise = augment.at_snr(noise, clean, dice.uniform(*config.snr, size).to(self.device))
        return augment.at_peak(clean + noise, clean, dice.uniform(*config.level, size).to(self.device))


class Shelf:
    """A corpus with the means to draw from it: first a group, then a recording of the group."""

    def __init__(self, corpus: Corpus, config: MixConfig) -> None:
        self.corpus = corpus
        groups = len(corpus.names)
        self.weights = torch.zeros(groups).index_add_(0, corpus.groups, corpus.lengths.float()) ** config.group_balance
        self.sizes = torch.bincount(corpus.groups, minlength=groups)
        self.firsts = self.sizes.cumsum(0) - self.sizes
        self.fade = max(1, round(0.005 * config.sample_rate))
        self.overlap = max(1, round(0.02 * config.sample_rate))

    def draw_groups(self, dice: Dice, count: int) -> Tensor:
        """`count` groups: int64 on the CPU."""
        return dice.pick(self.weights, count)

    def draw_files(self, dice: Dice, groups: Tensor) -> Tensor:
        """One recording for each group: int64 like `groups`."""
        return self.firsts[groups] + dice.below(self.sizes[groups])

    def spoken(self, dice: Dice, groups: Tensor, samples: int) -> Tensor:
        """Each row: utterances of its group one after another with short pauses, float32 (B, samples)."""
        rows, pieces = self._place(dice, groups, samples)
        start, length, position = (column.to(dice.device) for column in pieces)
        audio = self.corpus.excerpts(start, length, position, samples, self.fade)
        out = torch.zeros(len(groups), samples, device=dice.device)
        return out.index_add_(0, rows.to(dice.device), audio)

    def _place(self, dice: Dice, groups: Tensor, samples: int) -> tuple[Tensor, Tensor]:
        """Which piece of which recording lies where: rows (P,) and (start, length, position) (3, P)."""
        rate = self.corpus.sample_rate
        cursor = torch.zeros(len(groups), dtype=torch.int64)
        rows, pieces = [], []
        while (open_ := torch.nonzero(cursor < samples).flatten()).numel():
            files = self.draw_files(dice, groups[open_])
            length = self.corpus.lengths[files]
            room = length - (samples - cursor[open_])
            first = cursor[open_] == 0
            skip = dice.below(torch.maximum(room, first * length // 2).clamp_min(0) + 1)
            rows.append(open_)
            pieces.append(torch.stack([self.corpus.starts[files] + skip, length - skip, cursor[open_]]))
            cursor[open_] += length - skip + dice.uniform(0.05 * rate, 0.4 * rate, len(open_)).long()
        return torch.cat(rows), torch.cat(pieces, dim=1)

    def looped(self, dice: Dice, groups: Tensor, samples: int) -> Tensor:
        """Each row: one recording of its group, from a random moment, repeated where it is too short."""
        files = self.draw_files(dice, groups)
        length = self.corpus.lengths[files]
        gap = torch.where(
            dice.coin(0.5, len(files)), 0, dice.below(torch.full_like(length, self.corpus.sample_rate // 2))
        )
        period = torch.where(length < samples, length + gap, length)
        period = torch.where(gap == 0, (length - self.overlap).clamp_min(1), period)
        values = (self.corpus.starts[files], length, period, dice.below(period))
        return self.corpus.loops(*(value.to(dice.device) for value in values), samples, self.overlap)

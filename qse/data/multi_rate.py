"""Draw batches at two sample rates, for a network that serves both."""

from dataclasses import replace

import torch

from .mix_config import MixConfig
from .sampling import BatchRng
from .source import Batch, BatchSource

WIDE_BAND = 16000  # Hz
HIGHEST_LOW_PASS = 7500.0  # Hz, of segments at 16 kHz
RATES = -2  # the rank of the random numbers that choose the rate: no process has it


def wide_band(mix: MixConfig) -> MixConfig:
    """Return the same mixing at 16 kHz."""
    low = min(mix.low_pass[0], HIGHEST_LOW_PASS)
    high = min(mix.low_pass[1], HIGHEST_LOW_PASS)
    return replace(mix, sample_rate=WIDE_BAND, low_pass=(low, high))


class MultiRateSource:
    """Draw batches of a full-band source, or with probability `wide_share` of a wide-band one; all
    items have one rate.

    All processes draw a batch of the same rate in the same step. `segments`: of an epoch, those of
    both sources.
    """

    def __init__(self, full: BatchSource, wide: BatchSource, wide_share: float, seed: int):
        self.full = full
        self.wide = wide
        self.wide_share = wide_share
        self.seed = seed
        self.segments = full.segments + wide.segments

    def batch(self, step: int, size: int, rank: int = 0) -> Batch:
        """Return batch `step` in process `rank`, on the device."""
        chance = BatchRng(self.seed, RATES, step, torch.device("cpu")).uniform(0, 1, 1).item()
        return (self.wide if chance < self.wide_share else self.full).batch(step, size, rank)

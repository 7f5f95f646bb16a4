"""Adapt features to a talker, whom states of the network itself describe ("Personalized Speech
Enhancement Without a Separate Speaker Embedding Model", arXiv 2406.09928)."""

import torch
from torch import Tensor, nn

from .linear import QuaternionLinear

MEMORY = 100.0  # talkers in the running statistics, about


class TalkerScale(nn.Module):
    """Scale and shift tokens x (N, T, 4, C) by the vectors v of talkers (N, 4, C).

    y = x * (1 + v (x) S) + v (x) B, elementwise but for (x); zero vectors leave x as it is, and so
    do all at first, when S and B are zero.

    Means of states are alike for all talkers but for a fifth of their size. `standardised` makes
    vectors of them: without the mean over talkers, at a mean square of 1. Training keeps the
    statistics.
    """

    mean: Tensor
    variance: Tensor
    talkers: Tensor

    def __init__(self, channels: int, bands: int):
        super().__init__()
        self.scale = QuaternionLinear(channels, channels, bias=False)
        self.shift = QuaternionLinear(channels, channels, bias=False)
        for layer in (self.scale, self.shift):
            nn.init.zeros_(layer.weight)
        self.register_buffer("mean", torch.zeros(bands, 4, channels))
        self.register_buffer("variance", torch.ones(()))  # over bands and channels too
        self.register_buffer("talkers", torch.zeros(()))  # that the statistics have seen

    def forward(self, x: Tensor, talker: Tensor) -> Tensor:
        return x + x * self.scale(talker)[:, None] + self.shift(talker)[:, None]

    def standardised(self, found: Tensor, heard: Tensor) -> Tensor:
        """Return the vectors of means of states, (B, F, 4, C), of the talkers that are heard,
        (B,) of 1 or 0; zeros for the others.

        In training mode, those that are heard enter the statistics first.
        """
        weights = heard[:, None, None, None]
        mean = self.mean[: found.shape[1]]
        if self.training:
            self._track(found, weights, mean)
        return weights * (found - mean) / self.variance.sqrt()

    def _track(self, found: Tensor, weights: Tensor, mean: Tensor) -> None:
        """Move the statistics towards those of the means with weight 1, without a decision on the
        CPU: by the share of these in all, but at least in MEMORY, talkers."""
        count = weights.sum()
        self.talkers += count
        share = count / self.talkers.clamp(1, MEMORY)

        def over_talkers(values: Tensor) -> Tensor:
            return (weights * values).sum(0) / count.clamp_min(1)

        mean.lerp_(over_talkers(found), share)
        self.variance.lerp_(over_talkers((found - mean).square()).mean(), share)

"""Adapt features to a talker, whom states of the network itself describe ("Personalized Speech
Enhancement Without a Separate Speaker Embedding Model", arXiv 2406.09928)."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

NUMBERS = 32  # of a code
MEMORY = 300.0  # talkers in the running mean, about
PACE = 0.02  # of the weights of the code, so that it changes as slowly as the network

Vectors = dict[str, Tensor]
"""Of each block that adapts to a talker, by its name."""


def adapted(x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """Scale and shift tokens x (N, T, 4, C) as entries of a talker, (N, 4, C) each, say; zeros
    leave x as it is."""
    return x + x * scale[:, None] + shift[:, None]


class TalkerCode(nn.Module):
    """Turn the mean states of blocks over the speech of B talkers, (B, F, 4, C) of each block, into
    the entries of the state that adapt these blocks in F bands.

    found = means - their mean over talkers; code = W found, at a mean square of 1, (B, NUMBERS);
    entries = V code, (B, 2, F, 4, C) of each block: scales and shifts. V is zero at first. W is
    random until `fit_`.

    States of all talkers are alike, and most of what differs between two recordings is not the
    talker; directions that tell talkers apart are found from many, see tools/fit_talkers.py.
    """

    mean: Tensor
    talkers: Tensor

    def __init__(self, channels: Mapping[str, int], bands: int):
        """`channels`: of each block, by its name; `bands`: those that all sample rates share."""
        super().__init__()
        self.bands = bands
        inputs = 4 * bands * sum(channels.values())
        self.code = nn.Linear(inputs, NUMBERS, bias=False)
        self.entries = nn.ModuleDict()
        for name, count in channels.items():
            self.entries[name] = nn.Linear(NUMBERS, 2 * bands * 4 * count, bias=False)
        self.make_identity_("talker")
        self.register_buffer("mean", torch.zeros(inputs))
        self.register_buffer("talkers", torch.zeros(()))  # that the mean has seen

    def forward(self, means: Vectors, heard: Tensor) -> Vectors:
        """Return the entries of talkers that are heard, (B,) of 1 or 0, and zeros for others; in
        training mode, the former enter the mean over talkers first."""
        found = self.joined(means)
        if self.training:
            self._track(found, heard)
        return self.of(found, heard)

    def of(self, found: Tensor, heard: Tensor) -> Vectors:
        """Return the entries of talkers, of their means in one row (B, inputs)."""
        code = self.codes(found, heard)
        entries = {}
        for name, layer in self.entries.items():
            entries[name] = layer(code).unflatten(1, (2, self.bands, 4, -1))
        return entries

    def codes(self, found: Tensor, heard: Tensor) -> Tensor:
        """Return the codes of talkers, (B, NUMBERS), of their means in one row (B, inputs)."""
        code = PACE * self.code(found - self.mean)
        return code * (code.square().mean(1, keepdim=True) + 1e-6).rsqrt() * heard[:, None]

    def joined(self, means: Vectors) -> Tensor:
        """Return the means of all blocks as one row for each talker, (B, inputs)."""
        return torch.cat([means[name].flatten(1) for name in self.entries], 1)

    def branches(self) -> dict[str, tuple[str, ...]]:
        """Return what a network has not that adapts to no talker."""
        return {"talker": ("code", "entries", "mean", "talkers")}

    def make_identity_(self, branch: str) -> None:
        """Make entries of zeros of every talker."""
        for layer in self.entries.values():
            nn.init.zeros_(layer.get_parameter("weight"))

    @torch.no_grad()
    def fit_(self, directions: Tensor, mean: Tensor, talkers: int) -> None:
        """Set W (NUMBERS, inputs), and the mean (inputs,) over so many talkers."""
        self.code.weight.copy_(directions / PACE)
        self.mean.copy_(mean)
        self.talkers.fill_(talkers)

    @torch.no_grad()
    def _track(self, found: Tensor, heard: Tensor) -> None:
        """Move the mean towards those of the talkers with weight 1, without a decision on the CPU:
        by their share of all, but at least of MEMORY, talkers."""
        count = heard.sum()
        self.talkers += count
        share = count / self.talkers.clamp(1, MEMORY)
        self.mean.lerp_((heard[:, None] * found).sum(0) / count.clamp_min(1), share)

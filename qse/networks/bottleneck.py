"""Mix features across bands and time: attention across the bands of a frame, a GRU or another time
mixer along time.

Features are (B, 4, C, T, F). Inside a block tokens are channel-last: (B, T, F, 4, C).
"""

import copy
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn

from ..nn.layout import to_features, to_tokens
from ..nn.linear import QuaternionLinear
from ..nn.look_ahead import LookAhead
from ..nn.norm import QuaternionLayerNorm
from ..nn.state import State, Stateful, delay
from ..nn.talker import adapted
from .time_mixers import (
    BandAttentionName,
    TimeMixerName,
    find_band_attention,
    find_time_mixer,
)

BRANCHES = {  # branches that can be pruned, and the parts of each
    "attention": ("norm_attention", "band", "attention"),
    "time": ("norm_time", "time", "time_out"),
    "feed": ("norm_feed", "feed"),
}
# the last layer of each branch
LAST = {"attention": "attention.out.", "time": "time_out.", "feed": "feed.2."}


class DualPathBlock(Stateful):
    """Apply attention over bands, a time mixer and a feed-forward layer, each pre-norm, residual,
    and prunable.

    (B, T, F, 4, C) -> (B, T, F, 4, C), as many frames late as the time mixer looks ahead. State:
    the time mixer's, for the GRU (B * F, 4, C); {} without one; of one that looks ahead {"time":
    its state, "delay": (B, frames, F, 4, C)}; of a block that adapts to a talker {"time": its
    state, "scale" and "shift": (B * F, 4, C)}, entries of `TalkerCode`, or zeros: these stay.
    """

    real_weights = ("band",)

    def __init__(
        self,
        bands: int,
        channels: int,
        heads: int,
        qk_norm: bool = True,
        time_mixer: TimeMixerName | str = "gru",
        window: int = 100,
        attention: BandAttentionName | str = "shared",
        pruned: Collection[str] = (),
    ):
        """`pruned`: the branches to leave out, names in BRANCHES."""
        super().__init__()
        self.band = nn.Parameter(0.02 * torch.randn(bands, 4, channels))
        self.norm_attention = QuaternionLayerNorm(channels)
        self.attention = find_band_attention(attention)(channels, heads, qk_norm)
        self.norm_time = QuaternionLayerNorm(channels)
        mixer = find_time_mixer(time_mixer)
        self.time = mixer.of_sizes(bands=bands, channels=channels, heads=heads, window=window)
        self.frames_ahead = self.time.look_ahead
        self.time_out = QuaternionLinear(channels, channels)
        self.norm_feed = QuaternionLayerNorm(channels)
        self.feed = nn.Sequential(
            QuaternionLinear(channels, 2 * channels),
            nn.SiLU(),
            QuaternionLinear(2 * channels, channels),
        )
        for branch in pruned:
            for part in BRANCHES[branch]:
                setattr(self, part, None)
        self.adapts = False

    def adapt_(self) -> None:
        """Let the time mixer, if there is one, adapt to a talker. Raises ValueError for one that
        looks ahead."""
        if self.frames_ahead:
            raise ValueError(f"{type(self.time).__name__} looks ahead, and adapts to no talker")
        if self.time is not None:
            self.adapts = True

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        batch = x.shape[:2]
        if self.attention is not None:
            y = (self.norm_attention(x) + self.band[: x.shape[2]]).flatten(0, 1)  # B T, F, 4, C
            x = x + self.attention(y).unflatten(0, batch)
        after: State = {}
        if self.time is not None and self.frames_ahead:
            x, after = self._mix_ahead(x, state or {})
        elif self.adapts:
            y, after = self._mixed_for(x, state or {})
            x = x + y
        elif self.time is not None:
            y, after = self._mixed(x, state)
            x = x + y
        if self.feed is not None:
            x = x + self.feed(self.norm_feed(x))
        return x, after

    def _mixed(self, x: Tensor, state: State | None) -> tuple[Tensor, State]:
        y, state = self.time(self._of_bands(x), state)
        return self._of_frames(self.time_out(y), x), state

    def _mixed_for(self, x: Tensor, state: Any) -> tuple[Tensor, State]:
        y = self._of_bands(x)
        none = y.new_zeros(y.shape[0], *y.shape[2:])
        entries = {name: state.get(name, none) for name in ("scale", "shift")}
        y, mixer = self.time(adapted(y, **entries), state.get("time"))
        return self._of_frames(self.time_out(y), x), {"time": mixer, **entries}

    def _of_bands(self, x: Tensor) -> Tensor:
        """Return the normalised tokens of each band as a sequence: (B F, T, 4, C)."""
        return self.norm_time(x).transpose(1, 2).flatten(0, 1)

    def _of_frames(self, y: Tensor, x: Tensor) -> Tensor:
        """Return sequences of bands (B F, T, 4, C) in the order of x: (B, T, F, 4, C)."""
        return y.unflatten(0, (x.shape[0], -1)).transpose(1, 2)

    def _mix_ahead(self, x: Tensor, state: Any) -> tuple[Tensor, State]:
        """Add what a mixer that looks ahead puts out to the frame that it belongs to."""
        y, mixer = self._mixed(x, state.get("time"))
        waiting = state.get("delay")
        if waiting is None:
            waiting = x.new_zeros(x.shape[0], self.frames_ahead, *x.shape[2:])
        x, waiting = delay(x, waiting, dim=1)
        return x + y, {"time": mixer, "delay": waiting}

    def at_bands(self, bands: int) -> "DualPathBlock":
        """Return the block for frames of fewer bands: the same weights, shared."""
        if self.time is None:
            return self
        block = copy.copy(self)
        block._modules = {**self._modules, "time": self.time.at_bands(bands)}
        return block

    def pruned_parts(self) -> list[str]:
        """Return the names of all parts that are pruned."""
        parts = chain.from_iterable(BRANCHES.values())
        return [part for part in parts if getattr(self, part) is None]

    def branches(self) -> dict[str, tuple[str, ...]]:
        """Return the parts of each branch that is not pruned."""
        pruned = self.pruned_parts()
        return {branch: parts for branch, parts in BRANCHES.items() if parts[0] not in pruned}

    def make_identity_(self, branch: str) -> None:
        """Let a branch add nothing, from which it can be trained: zero its last weights."""
        for name, parameter in self.named_parameters():
            # of an algebra that learns its multiplication
            if name.startswith(LAST[branch]) and not name.endswith("rule"):
                nn.init.zeros_(parameter)


class Bottleneck(Stateful):
    """Apply layers in turn: (B, 4, C, T, F) -> (B, 4, C, T, F), `look_ahead` frames late.

    blocks: dual-path blocks, `block0` and so on, and `LookAhead` layers in front of some, as
    `ahead2` of `block2`. State: `{layer: its state}`.
    """

    blocks: Any

    def __init__(
        self, blocks: Iterable[DualPathBlock], look_ahead: Mapping[int, LookAhead] | None = None
    ):
        """`look_ahead`: layers by the number of the block behind them."""
        super().__init__()
        self.blocks = nn.ModuleDict()
        for n, block in enumerate(blocks):
            if look_ahead and n in look_ahead:
                self.blocks[f"ahead{n}"] = look_ahead[n]
            self.blocks[f"block{n}"] = block

    def forward(self, x: Tensor, state: dict | None = None) -> tuple[Tensor, dict]:
        state = state or {}
        after = {}
        x = to_tokens(x).contiguous()  # B, T, F, 4, C
        for name, block in self.blocks.items():
            x, after[name] = block(x, state.get(name))
        return to_features(x), after

    def at(self, bands: int, look_ahead: Mapping[int, int]) -> "Bottleneck":
        """Return the same layers, shared, for frames of `bands` bands, with other look-aheads in
        frames by block; 0 leaves a layer out."""
        blocks = nn.ModuleDict()
        for name, layer in self.blocks.items():
            if not name.startswith("ahead"):
                blocks[name] = layer.at_bands(bands)
                continue
            frames = look_ahead[int(name.removeprefix("ahead"))]
            if frames:
                blocks[name] = layer.at(frames)
        bottleneck = copy.copy(self)
        bottleneck._modules = {"blocks": blocks}
        return bottleneck

    def adaptive(self) -> Iterator[tuple[str, DualPathBlock]]:
        """Yield the blocks that adapt to a talker, with their names."""
        for name, block in self.blocks.items():
            if isinstance(block, DualPathBlock) and block.adapts:
                yield name, block

    def pruned_parts(self) -> list[str]:
        """Return the beginnings of the names of weights that a network with more look-ahead
        layers has, and this one has not."""
        numbers = [name.removeprefix("block") for name in self.blocks if name.startswith("block")]
        return [f"blocks.ahead{n}." for n in numbers if f"ahead{n}" not in self.blocks]

"""Average the outputs of a streaming network on two grids of frames, half a hop apart.

The frames of one grid begin in the middle of the hops of the other, so every sample is estimated
twice, from different frames. This is the translation-invariant denoising of Coifman and Donoho 1995
("cycle spinning") with two shifts. It costs a second network, and no latency: the hop is half as
long, and the lag of the output half a hop longer.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import QseError
from ..nn.state import flatten_state, initial_state, unflatten_state
from .network import StreamingNetwork


@dataclass(frozen=True)
class TwoGridsConfig:
    """Sample rate in Hz; hop in samples, half of the network's own."""

    sample_rate: int
    hop_length: int


class TwoGrids(StreamingNetwork):
    """Enhance (B, T * hop_length) samples -> (B, T * hop_length) samples, `latency` samples later.

    State: that of the network on the grid whose frame ends first, and on the second one; the input
    that waits for the end of that frame; and the output of the second grid for which the first one
    has none yet.
    """

    def __init__(self, network: StreamingNetwork):
        """Raises QseError for a network with an odd hop."""
        super().__init__()
        hop = network.config.hop_length
        if hop % 2:
            raise QseError(f"hop_length = {hop}: two grids of frames need an even one")
        self.config = TwoGridsConfig(network.config.sample_rate, hop // 2)
        self.network = network

    @property  # type: ignore[misc]
    def latency(self) -> int:
        """Return the samples from an input sample to the same moment in the output."""
        return self.network.latency + self.config.hop_length

    def at(self, sample_rate: int) -> "TwoGrids":
        """Return both grids for this sample rate in Hz, with shared weights.

        Raises ValueError as the network's own `at` does.
        """
        network = self.network.at(sample_rate)
        assert isinstance(network, StreamingNetwork)
        return TwoGrids(network)

    def forward(self, audio: Tensor, state: dict | None = None) -> tuple[Tensor, dict]:
        state = state or {}
        half = self.config.hop_length
        samples = audio.shape[1]
        silence = audio.new_zeros(len(audio), half)
        waiting = torch.cat([state.get("input", silence), audio], 1)
        output = state.get("output", silence)

        if samples // half % 2 == 0:  # both grids get as many frames
            grids = torch.cat([waiting[:, :-half], audio])  # one batch: the weights are read once
            joined = _join(state["first"], state["second"]) if "first" in state else None
            enhanced, joined = self.network(grids, joined)
            behind, ahead = enhanced.chunk(2)
            first, second = _part(joined)
            ahead = torch.cat([output, ahead], 1)
        else:  # the first grid gets one more, so that the other one is the first from then on
            ahead, second = self.network(waiting, state.get("first"))
            behind = output
            if samples > half:
                more, first = self.network(audio[:, :-half], state.get("second"))
                behind = torch.cat([output, more], 1)
            else:
                first = state["second"] if "second" in state else initial_state(second)
        after: dict = {"first": first, "second": second}
        after["input"] = audio[:, -half:]
        after["output"] = ahead[:, samples:]
        return (ahead[:, :samples] + behind) / 2, after


def _join(first: dict, second: dict) -> dict:
    """Return the state of a batch of both grids. The first axis of every state is the batch."""
    behind = flatten_state(first)
    ahead = flatten_state(second)
    return unflatten_state({path: torch.cat([behind[path], ahead[path]]) for path in behind})


def _part(joined: dict) -> tuple[dict, dict]:
    """Return the states of both grids, the inverse of `_join`."""
    first = {}
    second = {}
    for path, leaf in flatten_state(joined).items():
        first[path], second[path] = leaf.chunk(2)
    return unflatten_state(first), unflatten_state(second)

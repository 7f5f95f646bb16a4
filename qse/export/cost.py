"""Measure what a model costs: parameters, multiply-accumulates, real-time factor, time and state
per hop."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

import numpy as np
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from ..networks import Network
from ..runtime.engine import Engine
from ..runtime.offline import OfflineModel
from ..runtime.timing import GROUP, race, stepper
from ..runtime.zoo import Model
from .graph_file import speech_like


@dataclass(frozen=True)
class HopCost:
    """Cost of one hop of a streaming model: quantiles of the time in seconds on one thread, and the
    state in bytes; length of a hop and delay of the model, with its hop, in seconds."""

    p50: float
    p99: float
    state_bytes: int
    length: float
    delay: float


@dataclass(frozen=True)
class ModelCost:
    """Cost of a model on one thread; rtf = processing time / audio time,
    macs per second of audio."""

    rtf: float
    params: int
    macs: float
    hop: HopCost | None = None


def measure_cost(network: Network, model: Model, seconds: float = 10.0) -> ModelCost:
    """Measure a network and its graph on one thread of this machine, over `seconds` of audio."""
    params = network.parameter_count
    if not isinstance(model, Engine):
        noisy = speech_like(round(seconds * model.sample_rate), model.sample_rate)
        times = race({model.name: lambda: _enhance(model, noisy)}, 0.0, least=2)[model.name]
        return ModelCost(times.median / seconds, params, macs_per_second(network))

    hop = model.hop_length / model.sample_rate
    least = ceil(seconds / hop / GROUP)
    times = race({model.name: stepper(model)}, 0.0, group=GROUP, least=least)[model.name]
    grids = 2 if model.second_grid else 1
    state_bytes = grids * sum(array.nbytes for array in model.initial_state().values())
    per_hop = HopCost(times.median, times.quantile(0.99), state_bytes, hop, model.delay)
    return ModelCost(times.mean / hop, params, macs_per_second(network), per_hop)


def macs_per_second(network: Network) -> int:
    """Count the multiply-accumulates of a network in one second of audio."""
    config = network.config
    # in float32 an LSTM is one operator that is not counted
    network = copy.deepcopy(network).double().eval()
    second = config.sample_rate // config.hop_length * config.hop_length
    return macs(network, torch.zeros(1, second, dtype=torch.float64))


@torch.no_grad()
def macs(function: Callable[..., Tensor], *inputs: Tensor) -> int:
    """Count multiply-accumulates of function(*inputs) in its convolutions and matrix products, as
    executed.

    A quaternion layer counts as the real product that it expands to, plus the expansion of its
    weights.
    """
    counter = FlopCounterMode(display=False)
    with sdpa_kernel(SDPBackend.MATH), counter:
        function(*inputs)
    return counter.get_total_flops() // 2


def _enhance(model: OfflineModel, noisy: np.ndarray) -> None:
    channel = model.open_channel()
    channel.process(noisy)
    channel.finish()

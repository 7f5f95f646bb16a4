"""Count parameters and multiply-accumulates of the paper's models; list their rows in the paper."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from ..nn.hamilton import written_out_
from . import build_network


@dataclass(frozen=True)
class PaperModel:
    """A model of the paper: its name in the tables, which tables, and its parameters there in
    millions."""

    name: str
    paper: str
    params: float
    tables: str


PAPER_MODELS = (
    PaperModel("qconformer", "QConformer (Ours)", 0.80, "2, 3"),
    PaperModel("qconformer-hamilton", "QConformer (Tay et al.)", 0.80, "2, 3"),
    PaperModel("qtransformer", "QTransformer (Ours)", 0.62, "2, 3"),
    PaperModel("qtransformer-hamilton", "QTransformer (Tay et al.)", 0.62, "2, 3"),
    PaperModel("qdensenet", "QDenseNet", 0.74, "2"),
    PaperModel("qtn", "QTN (Yang et al.)", 0.63, "2"),
    PaperModel("conformer", "Real-valued Conformer", 3.19, "2, 3"),
)


def count_cost(name: str) -> tuple[int, int]:
    """Return (parameters, multiply-accumulates for one second of audio) of a model by name, without
    running it.

    Hamilton attention is counted by its equations, without the zeros that the fused form adds to
    the values.
    """
    with torch.device("meta"):
        network = build_network({"network": name})
    config = network.config
    core = written_out_(network.get_submodule("core"))
    spec = torch.empty(
        1, 2, 1 + config.sample_rate // config.hop_length, config.n_fft // 2 + 1, device="meta"
    )
    return network.parameter_count, macs(core, spec)


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

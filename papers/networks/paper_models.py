"""Count parameters and multiply-accumulates of the paper's models; list their rows in the paper."""

from dataclasses import dataclass

import torch

from qse.export.cost import macs
from qse.networks import build_network

from ..nn.hamilton import written_out_


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

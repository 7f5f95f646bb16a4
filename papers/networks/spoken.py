"""Recurrent classifier of acoustic features (Parcollet et al. 2019, section 3.2).

The paper predicts a phoneme state per frame; this network predicts one class per recording, from
the mean over frames.
"""

from itertools import pairwise

import torch
from torch import Tensor, nn

from qse.networks.algebra import convert_
from qse.nn.recurrent import QuaternionGRU

from ..nn.cells import QuaternionLSTM, QuaternionRNN
from .count import parameter_count

CELLS = {
    "rnn": lambda into, units: QuaternionRNN(into, units, "relu"),
    "lstm": QuaternionLSTM,
    "gru": QuaternionGRU,
}


class SpokenClassifier(nn.Module):
    """Classify a recording: features (N, T, 4, C) and frames (N,) -> logits (N, classes).

    units counts real numbers per hidden layer, a multiple of 4. The output layer is real.
    """

    def __init__(self, cell: str, algebra: str, bands: int, units: int, layers: int, classes: int):
        super().__init__()
        sizes = [bands, *[units // 4] * layers]
        self.layers = nn.ModuleList(CELLS[cell](into, out) for into, out in pairwise(sizes))
        convert_(self, algebra)
        self.dropout = nn.Dropout(0.2)
        self.out = nn.Linear(units, classes)

    def forward(self, x: Tensor, frames: Tensor) -> Tensor:
        for layer in self.layers:
            x = self.dropout(layer(x)[0])
        inside = torch.arange(x.shape[1], device=x.device) < frames[:, None]
        mean = (x.flatten(2) * inside[..., None]).sum(1) / frames[:, None]
        return self.out(mean)


def units_with(count: int, cell: str, bands: int, layers: int, classes: int) -> int:
    """Return the units of the largest real network with at most `count` parameters."""
    units = 4
    with torch.device("meta"):
        while True:
            wider = SpokenClassifier(cell, "real", bands, units + 4, layers, classes)
            if parameter_count(wider) > count:
                return units
            units += 4

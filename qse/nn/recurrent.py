"""Compute quaternion recurrences over time.

x (N, T, 4, C): N independent sequences of T frames. The GRU's gates act on each real component, its
matrices are quaternion (by analogy with the RNN of Parcollet et al., "Quaternion Recurrent Neural
Networks", section 2.3).
"""

from typing import Self

import torch
from torch import Tensor, nn

from .gru_choice import chosen_gru
from .init import quaternion_init_
from .quaternion import gate_matrix
from .time_mixer import TimeMixer


class QuaternionGRU(TimeMixer):
    """Apply a GRU along time: (N, T, 4, C) -> (N, T, 4, H); state: the last hidden quaternions
    (N, 4, H).

    r = sigma(x (x) W_r + h (x) U_r + b_r),  z = sigma(x (x) W_z + h (x) U_z + b_z),
    n = tanh(x (x) W_n + b_n + r * (h (x) U_n + c_n)),  h' = (1 - z) * n + z * h.
    """

    quaternion_gates = ("weight_input", "weight_hidden")

    def __init__(self, in_channels: int, channels: int):
        super().__init__()
        self.weight_input = nn.Parameter(torch.empty(3, 4, channels, in_channels))  # gates r, z, n
        self.weight_hidden = nn.Parameter(torch.empty(3, 4, channels, channels))
        self.bias_input = nn.Parameter(torch.zeros(3, 4, channels))
        self.bias_hidden = nn.Parameter(torch.zeros(3, 4, channels))
        for gate in (*self.weight_input, *self.weight_hidden):
            quaternion_init_(gate)

    @classmethod
    def of_sizes(cls, *, bands: int, channels: int, heads: int, window: int) -> Self:
        return cls(channels, channels)

    def forward(self, x: Tensor, hidden: Tensor | None = None) -> tuple[Tensor, Tensor]:
        if hidden is None:
            hidden = x.new_zeros(x.shape[0], *self.bias_hidden.shape[1:])
        kind = self.bias_hidden.dtype
        x = x.flatten(-2).to(kind)
        hidden = hidden.flatten(-2).to(kind)
        gru = chosen_gru(x.device, kind, hidden.shape[-1], self.training)  # asks autocast
        # rounding accumulates; float32 is no slower
        with torch.autocast(x.device.type, enabled=False):
            matrices = gate_matrix(self.weight_input), gate_matrix(self.weight_hidden)
            weights = *matrices, self.bias_input.flatten(), self.bias_hidden.flatten()
            if gru:
                y = gru(x, hidden, weights)
                after = y[None, :, -1]
            else:  # with biases, 1 layer, no dropout, one direction, batch first
                y, after = torch.gru(
                    x, hidden[None], weights, True, 1, 0.0, self.training, False, True
                )
        return y.unflatten(-1, (4, -1)), after[0].unflatten(-1, (4, -1))

"""Compute quaternion RNN and LSTM.

Parcollet et al. 2019, "Quaternion Recurrent Neural Networks", section 2.3. x (N, T, 4, C): N
independent sequences of T frames. Matrices are quaternion, activations and gates act on each real
component (split activations, Eq. 7). The paper writes W (x) h; here it is h (x) W, as in all layers
of qse: the same network with all quaternions conjugated. The GRU is in qse/nn/recurrent.py.
"""

from collections.abc import Callable
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from qse.nn.init import quaternion_init_
from qse.nn.quaternion import gate_matrix
from qse.nn.time_mixer import TimeMixer

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "relu": torch.relu,
    "linear": nn.Identity(),
}


class _Gates(TimeMixer):
    """Weights of `gates` gates: a quaternion matrix for x, one for h, and a bias each."""

    quaternion_gates = ("weight_input", "weight_hidden")

    def __init__(self, gates: int, in_channels: int, channels: int):
        super().__init__()
        self.weight_input = nn.Parameter(torch.empty(gates, 4, channels, in_channels))
        self.weight_hidden = nn.Parameter(torch.empty(gates, 4, channels, channels))
        self.bias = nn.Parameter(torch.zeros(gates, 4, channels))
        for gate in (*self.weight_input, *self.weight_hidden):
            quaternion_init_(gate)

    @classmethod
    def of_sizes(cls, *, bands: int, channels: int, heads: int, window: int) -> Self:
        kind: Any = cls
        return kind(channels, channels)


class QuaternionRNN(_Gates):
    """Apply an RNN along time: (N, T, 4, C) -> (N, T, 4, H); state: h, (N, 4, H).

    h[t] = act(h[t - 1] (x) W_hh + x[t] (x) W_hx + b), Eq. 6.
    """

    def __init__(self, in_channels: int, channels: int, activation: str = "tanh"):
        super().__init__(1, in_channels, channels)
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation {activation!r}: choose one of {', '.join(ACTIVATIONS)}")
        self.act = ACTIVATIONS[activation]

    def forward(self, x: Tensor, hidden: Tensor | None = None) -> tuple[Tensor, Tensor]:
        if hidden is None:
            hidden = x.new_zeros(x.shape[0], *self.bias.shape[1:])
        hidden = hidden.flatten(-2)
        matrix = gate_matrix(self.weight_hidden)
        inputs = F.linear(x.flatten(-2), gate_matrix(self.weight_input), self.bias.flatten())
        outputs: list[Tensor] = []
        for frame in inputs.unbind(1):
            hidden = self.act(frame + F.linear(hidden, matrix))
            outputs.append(hidden)
        return torch.stack(outputs, 1).unflatten(-1, (4, -1)), hidden.unflatten(-1, (4, -1))


class QuaternionLSTM(_Gates):
    """Apply an LSTM along time: (N, T, 4, C) -> (N, T, 4, H).

    State: {"hidden": h, "cell": c}, both (N, 4, H). i, f, o = sigma(x (x) W + h (x) U + b) and g =
    tanh(x (x) W_g + h (x) U_g + b_g) per real component; c' = f * c + i * g, h' = o * tanh(c'). The
    bias of f is initialised to 1.
    """

    def __init__(self, in_channels: int, channels: int):
        super().__init__(4, in_channels, channels)
        nn.init.ones_(self.bias[1])

    def forward(
        self, x: Tensor, state: dict[str, Tensor] | None = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        start = None
        if state is not None:
            start = (state["hidden"].flatten(-2), state["cell"].flatten(-2))
        weights = (gate_matrix(self.weight_input), gate_matrix(self.weight_hidden))
        y, hidden, cell = lstm(x.flatten(-2), start, *weights, self.bias.flatten())
        return y.unflatten(-1, (4, -1)), {
            "hidden": hidden.unflatten(-1, (4, -1)),
            "cell": cell.unflatten(-1, (4, -1)),
        }


def lstm(
    x: Tensor,
    state: tuple[Tensor, Tensor] | None,
    weight_input: Tensor,
    weight_hidden: Tensor,
    bias: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute an LSTM with real matrices, gates i, f, g, o.

    x (N, T, C) -> y (N, T, H), hidden, cell. weight_input (4 H, C), weight_hidden (4 H, H), bias (4
    H,).
    """
    if state is None:
        zeros = x.new_zeros(x.shape[0], weight_hidden.shape[1])
        state = (zeros, zeros)
    hidden, cell = state
    if x.device.type == "cpu" and torch.is_autocast_enabled("cpu"):
        # in reduced precision, oneDNN has an LSTM for CPUs with AVX-512 alone
        with torch.autocast("cpu", enabled=False):
            weights = [weight.float() for weight in (weight_input, weight_hidden, bias)]
            return lstm(x.float(), (hidden.float(), cell.float()), *weights)
    initial = [hidden[None], cell[None]]
    weights = [weight_input, weight_hidden, bias, torch.zeros_like(bias)]
    training = torch.is_grad_enabled()  # if False, cuDNN stores nothing for the gradient
    y, hidden, cell = torch.lstm(x, initial, weights, True, 1, 0.0, training, False, True)
    return y, hidden[0], cell[0]  # with biases, 1 layer, no dropout, one direction, batch first

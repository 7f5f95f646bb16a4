"""Register real forms of attention, and of layers that are lowered only at their boundary.

Layers of experiments (Hamilton attention, other time mixers) keep their quaternion `forward`; tokens are converted
around it, and their weights become constant matrices.
"""

from torch import Tensor, nn

from ..networks.algebra import GATES, WEIGHTS
from ..nn.attention import CausalSharedScoreAttention, SharedScoreAttention
from ..nn.conv_attention import ConvolutionAttention
from ..nn.hamilton import HamiltonAttention
from ..nn.quaternion import real_matrix
from ..nn.recurrent import gate_matrix
from ..nn.research.cells import QuaternionLSTM, QuaternionRNN
from ..nn.research.lru import QuaternionLRU
from ..nn.research.ssm import QuaternionSSM
from ..nn.research.token import GlobalToken
from ..nn.state import State, Stateful
from .real_form import quaternions, real_form, reals
from .real_layers import real_linear


class RealAttention(nn.Module):
    """Compute `SharedScoreAttention` on (N, L, C): attention of real heads, the scale folded into weights."""

    def __init__(self, attention: SharedScoreAttention):
        super().__init__()
        project = attention.project
        self.heads = project.heads
        self.linear, self.out = real_linear(project.linear), real_linear(attention.out)
        channels = self.linear.in_features
        scaled = [parameter[:channels] for parameter in self.linear.parameters()]  # of the queries
        if project.qk_norm:
            scaled = list(project.norm_q.parameters())  # a norm would undo the scale of its input
        for weight in scaled:
            weight.mul_((channels // self.heads) ** -0.5)
        self.norm_q, self.norm_k = real_form(project.norm_q), real_form(project.norm_k)

    def forward(self, x: Tensor) -> Tensor:
        qkv = self.linear(x).mT.unflatten(1, (3 * self.heads, -1))  # N, 3 H, d, L
        q, k, v = qkv.split(self.heads, 1)
        weights = (self.norm_q(q.mT) @ self.norm_k(k.mT).mT).softmax(-1)  # N, H, L, L
        return self.out((v @ weights.mT).flatten(1, 2).mT)


class Constant(nn.Module):
    """Return the real matrix of a quaternion weight: () -> matrix, the interface of weights of another algebra."""

    matrix: Tensor

    def __init__(self, matrix: Tensor):
        super().__init__()
        self.register_buffer("matrix", matrix)

    def forward(self) -> Tensor:
        return self.matrix


def constant_weights_(layer: nn.Module) -> None:
    """Replace all quaternion weights below `layer` by constant real matrices; its `forward` stays the same."""
    for module in list(layer.modules()):
        for table, expand in ((WEIGHTS, real_matrix), (GATES, gate_matrix)):
            for name in table.get(type(module), ()):
                matrix = expand(getattr(module, name))
                delattr(module, name)
                module.add_module(name, Constant(matrix))


class OnQuaternions(nn.Module):
    """Apply a layer without state on quaternion tokens to real tokens: (N, L, C) -> (N, L, C)."""

    def __init__(self, layer: nn.Module):
        super().__init__()
        constant_weights_(layer)
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        return reals(self.layer(quaternions(x)))


class StreamOnQuaternions(Stateful):
    """Apply a streaming layer on quaternion tokens to real tokens: (N, T, C) -> (N, T, C). State: the layer's."""

    def __init__(self, layer: nn.Module):
        super().__init__()
        constant_weights_(layer)
        self.layer = layer

    def forward(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        y, state = self.layer(quaternions(x), state)
        return reals(y), state


real_form.register(SharedScoreAttention, RealAttention)
for stateless in (HamiltonAttention, ConvolutionAttention):
    real_form.register(stateless, OnQuaternions)
for stateful in (CausalSharedScoreAttention, QuaternionRNN, QuaternionLSTM, QuaternionLRU, QuaternionSSM, GlobalToken):
    real_form.register(stateful, StreamOnQuaternions)

"""A network made ready to run: batch norms folded into the convolutions before them, quaternion weights expanded once.

The folded copy computes the same function by the same `forward` lines; only leaves are replaced.
"""

import copy

import torch
from torch import Tensor, nn

from ..nn.conv import QuaternionConv2d
from ..nn.norm import QuaternionBatchNorm2d
from ..nn.quaternion import real_matrix


class ExpandedConv2d(nn.Conv2d):
    """(B, 4, C, T, F) -> (B, 4, C', T', F'): a `QuaternionConv2d` whose real matrix is a constant."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.flatten(1, 2)).unflatten(1, (4, -1))


@torch.no_grad()
def fold(network: nn.Module) -> nn.Module:
    """A copy of `network` in eval mode, without batch norms behind convolutions."""
    network = copy.deepcopy(network).eval()
    for module in list(network.modules()):
        norm = getattr(module, "norm", None)
        if isinstance(norm, QuaternionBatchNorm2d):
            for parent, name in _convolutions(module):
                setattr(parent, name, _expand(getattr(parent, name), norm))
            module.norm = nn.Identity()
    for module in list(network.modules()):
        for name, child in module.named_children():
            if isinstance(child, QuaternionConv2d):
                setattr(module, name, _expand(child, None))
    return network


def _convolutions(module: nn.Module) -> list[tuple[nn.Module, str]]:
    """Where the convolutions before the norm of `module` hang: as (parent, attribute)."""
    return [
        (parent, name)
        for parent in module.modules()
        for name, child in parent.named_children()
        if isinstance(child, QuaternionConv2d)
    ]


def _expand(conv: QuaternionConv2d, norm: QuaternionBatchNorm2d | None) -> ExpandedConv2d:
    weight = real_matrix(conv.weight)
    bias = weight.new_zeros(len(weight)) if conv.bias is None else conv.bias.flatten()
    if norm is not None:
        scale = norm.weight * torch.rsqrt(norm.running_var + norm.eps)
        weight, bias = weight * scale[:, None, None, None], (bias - norm.running_mean) * scale + norm.bias
    out, into, *kernel = weight.shape
    expanded = ExpandedConv2d(into, out, kernel, conv.stride, conv.padding, conv.dilation)
    expanded.weight, expanded.bias = nn.Parameter(weight), nn.Parameter(bias)
    return expanded

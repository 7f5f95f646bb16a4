"""Lower a network: replace every layer by its real form (real_form.py), fold batch norms into convolutions."""

import copy

import torch
from torch import nn

from . import real_attention, real_layers, real_offline, real_streaming  # noqa: F401  they register real forms
from .real_form import real_form


@torch.no_grad()
def lower(network: nn.Module) -> nn.Module:
    """Return a copy of a streaming or offline `network`, in eval mode, that computes the same on real layers."""
    return real_form(copy.deepcopy(network).eval())

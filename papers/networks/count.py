"""Count the parameters of networks."""

from torch import nn


def parameter_count(*modules: nn.Module) -> int:
    """Return how many numbers the parameters of `modules` hold."""
    return sum(tensor.numel() for tensor in nn.ModuleList(modules).parameters())

"""What the experiments on text share: a classifier is trained, its accuracy on held-out examples is kept."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .results import Row

Examples = tuple[Sequence[Tensor], Tensor]  # inputs, each (N, L), and labels (N,)


def train_classifier(
    network: nn.Module, train: Examples, valid: Examples, *, epochs: int, batch: int, learning_rate: float
) -> list[Row]:
    """Adam on the cross-entropy; a row per epoch: epoch, mean training loss, accuracy on `valid`."""
    optimizer, rows = torch.optim.Adam(network.parameters(), learning_rate), []
    inputs, labels = train
    for epoch in range(1, epochs + 1):
        losses = []
        for chosen in torch.randperm(len(labels)).split(batch):
            loss = F.cross_entropy(network(*(part[chosen] for part in inputs)), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        rows.append({"epoch": epoch, "loss": sum(losses) / len(losses), "accuracy": accuracy(network, valid, batch)})
    return rows


@torch.no_grad()
def accuracy(network: nn.Module, examples: Examples, batch: int = 64) -> float:
    """The share of examples whose likeliest class is the right one."""
    inputs, labels = examples
    network.eval()
    parts = zip(*(part.split(batch) for part in inputs), strict=True)
    guesses = torch.cat([network(*part).argmax(-1) for part in parts])
    network.train()
    return (guesses == labels).float().mean().item()

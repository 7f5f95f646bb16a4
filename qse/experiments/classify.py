"""Training and accuracy of text classifiers, shared by the experiments on text."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .progress import progress
from .results import Row
from .schedule import warmup_cosine

Examples = tuple[Sequence[Tensor], Tensor]  # inputs, each (N, L), and labels (N,)


def train_classifier(
    network: nn.Module,
    train: Examples,
    valid: Examples,
    optimizer: torch.optim.Optimizer,
    *,
    epochs: int,
    batch: int,
    warmup: float | None = None,
    title: str = "training",
) -> list[Row]:
    """Minimise the cross-entropy; return a row per epoch: epoch, mean training loss, accuracy on `valid`.

    warmup: share of all steps in which the learning rate rises, before a cosine to zero; None: constant rate. title:
    what the progress bar says.
    """
    inputs, labels = train
    steps = epochs * -(-len(labels) // batch)
    schedule = None if warmup is None else warmup_cosine(optimizer, round(warmup * steps), steps)
    rows = []
    with progress(title, steps) as advance:
        for epoch in range(1, epochs + 1):
            losses = []
            for chosen in batches_by_length(inputs, batch):
                loss = F.cross_entropy(
                    network(*(trimmed(part[chosen]) for part in inputs)), labels[chosen]
                )
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                if schedule:
                    schedule.step()
                losses.append(loss.item())
                advance()
            found = {"loss": sum(losses) / len(losses), "accuracy": accuracy(network, valid, batch)}
            rows.append({"epoch": epoch} | found)
    return rows


def batches_by_length(inputs: Sequence[Tensor], batch: int, pool: int = 50) -> list[Tensor]:
    """Return the indices of an epoch's batches in random order; texts of a batch are of similar length.

    Of each `pool` batches drawn at random, the texts are sorted by length before they are cut into batches.
    """
    if not all(map(is_text, inputs)):
        return list(torch.randperm(len(inputs[0])).split(batch))
    lengths = torch.stack([(part != 0).sum(1) for part in inputs]).sum(0)
    chosen = []
    for drawn in torch.randperm(len(lengths)).split(pool * batch):
        chosen += drawn[lengths[drawn].argsort(stable=True)].split(batch)
    return [chosen[place] for place in torch.randperm(len(chosen)).tolist()]


def is_text(part: Tensor) -> bool:
    """Return whether an input is word numbers (N, L), 0 for padding, and not features."""
    return part.ndim == 2 and part.dtype == torch.long


def trimmed(tokens: Tensor) -> Tensor:
    """Return tokens (N, L) without the columns that are padding in every text; another input as it is."""
    if not is_text(tokens):
        return tokens
    return tokens[:, : max(1, int((tokens != 0).sum(1).max()))]


@torch.no_grad()
def predictions(network: nn.Module, inputs: Sequence[Tensor], batch: int = 64) -> Tensor:
    """Return the most likely class (N,) of every example."""
    network.eval()
    parts = zip(*(part.split(batch) for part in inputs), strict=True)
    guesses = torch.cat([network(*map(trimmed, part)).argmax(-1) for part in parts])
    network.train()
    return guesses


def accuracy(network: nn.Module, examples: Examples, batch: int = 64) -> float:
    """Return the share of examples whose most likely class is the label."""
    inputs, labels = examples
    return (predictions(network, inputs, batch) == labels).float().mean().item()

"""Training and accuracy of classifiers, shared by the experiments on text and spoken digits."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .base import device_of
from .fit import fit, warmup_cosine
from .results import Row

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
    """Minimise the cross-entropy, on the device of the network; return a row per epoch.

    A row holds the epoch, the mean training loss, and the accuracy on `valid` in percent. warmup:
    share of all steps in which the learning rate rises, before a cosine to zero; None: constant
    rate. title: what the progress bar says.
    """
    inputs, labels = train
    device = device_of(network)
    per_epoch = -(-len(labels) // batch)
    steps = epochs * per_epoch
    schedule = None if warmup is None else warmup_cosine(optimizer, round(warmup * steps), steps)
    batches = _endless_batches(inputs, batch)

    def loss_of_batch() -> Tensor:
        chosen = next(batches)
        parts = [trimmed(part[chosen]).to(device) for part in inputs]
        return F.cross_entropy(network(*parts), labels[chosen].to(device))

    rows: list[Row] = []
    losses: list[float] = []
    for step, loss in fit(loss_of_batch, optimizer, steps, schedule=schedule, title=title):
        losses.append(loss)
        if step % per_epoch == 0:
            found = {"loss": sum(losses) / len(losses)}
            found["accuracy %"] = 100 * accuracy(network, valid, batch)
            rows.append({"epoch": step // per_epoch} | found)
            losses = []
    return rows


def _endless_batches(inputs: Sequence[Tensor], batch: int) -> Iterator[Tensor]:
    """Yield the indices of the batches of one epoch after the other."""
    while True:
        yield from batches_by_length(inputs, batch)


def batches_by_length(inputs: Sequence[Tensor], batch: int, pool: int = 50) -> list[Tensor]:
    """Return the indices of an epoch's batches in random order; similar lengths are together.

    Of each `pool` batches drawn at random, the texts are sorted by length before they are cut into
    batches.
    """
    if not all(map(is_text, inputs)):
        return list(torch.randperm(len(inputs[0])).split(batch))

    lengths = torch.stack([(part != 0).sum(1) for part in inputs]).sum(0)
    chosen: list[Tensor] = []
    for drawn in torch.randperm(len(lengths)).split(pool * batch):
        chosen += drawn[lengths[drawn].argsort(stable=True)].split(batch)
    return [chosen[place] for place in torch.randperm(len(chosen)).tolist()]


def is_text(part: Tensor) -> bool:
    """Return whether an input is word numbers (N, L), 0 for padding, and not features."""
    return part.ndim == 2 and part.dtype == torch.long


def trimmed(tokens: Tensor) -> Tensor:
    """Return tokens (N, L) without the columns that are padding in every text; else the input."""
    if not is_text(tokens):
        return tokens
    return tokens[:, : max(1, int((tokens != 0).sum(1).max()))]


@torch.no_grad()
def predictions(network: nn.Module, inputs: Sequence[Tensor], batch: int = 64) -> Tensor:
    """Return the most likely class (N,) of every example."""
    network.eval()
    device = device_of(network)
    guesses: list[Tensor] = []
    for start in range(0, len(inputs[0]), batch):
        parts = [trimmed(part[start : start + batch]).to(device) for part in inputs]
        guesses.append(network(*parts).argmax(-1).cpu())
    network.train()
    return torch.cat(guesses)


def accuracy(network: nn.Module, examples: Examples, batch: int = 64) -> float:
    """Return the share of examples whose most likely class is the label."""
    inputs, labels = examples
    return (predictions(network, inputs, batch) == labels).float().mean().item()

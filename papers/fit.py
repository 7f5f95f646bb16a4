"""The training loop of all experiments, and their schedule of the learning rate."""

import math
from collections.abc import Callable, Iterator

from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, LRScheduler

from .progress import progress


def fit(
    loss: Callable[[], Tensor],
    optimizer: Optimizer,
    steps: int,
    *,
    schedule: LRScheduler | None = None,
    max_grad_norm: float = 0.0,
    title: str = "training",
) -> Iterator[tuple[int, float]]:
    """Take `steps` steps of `optimizer`; after each, yield its number, from 1 on, and the loss.

    loss: draws a batch and returns its loss. max_grad_norm: clip gradients to this norm, 0 for no
    clipping. title: what the progress bar says. Whoever iterates may stop early.
    """
    with progress(title, steps) as advance:
        for step in range(1, steps + 1):
            value = loss()
            take_step(value, optimizer, max_grad_norm)
            if schedule:
                schedule.step()
            advance()
            yield step, value.item()


def take_step(loss: Tensor, optimizer: Optimizer, max_grad_norm: float = 0.0) -> None:
    """Compute the gradients of `loss` and take one step; see `fit`."""
    optimizer.zero_grad()
    loss.backward()
    if max_grad_norm:
        parameters: list[Tensor] = []
        for group in optimizer.param_groups:
            parameters += group["params"]
        nn.utils.clip_grad_norm_(parameters, max_grad_norm)
    optimizer.step()


def warmup_cosine(optimizer: Optimizer, warmup: int, steps: int) -> LRScheduler:
    """Raise the learning rate over `warmup` steps, then lower it by a cosine to zero at `steps`."""

    def factor(step: int) -> float:
        if step < warmup:
            return (step + 1) / warmup
        return 0.5 + 0.5 * math.cos(math.pi * (step - warmup) / max(1, steps - warmup))

    return LambdaLR(optimizer, factor)

"""Learning-rate schedules of the experiments."""

import math

import torch


def warmup_cosine(
    optimizer: torch.optim.Optimizer, warmup: int, steps: int
) -> torch.optim.lr_scheduler.LRScheduler:
    """Raise the learning rate linearly over `warmup` steps, then lower it by a cosine to zero at step `steps`."""

    def factor(step: int) -> float:
        if step < warmup:
            return (step + 1) / warmup
        return 0.5 + 0.5 * math.cos(math.pi * (step - warmup) / max(1, steps - warmup))

    return torch.optim.lr_scheduler.LambdaLR(optimizer, factor)

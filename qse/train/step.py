"""Return the result of a step of a training."""

from typing import NamedTuple

import torch
from torch import Tensor


class Step(NamedTuple):
    """Hold the result of a step.

    values: its loss and terms. stop: any process asked to stop, or the time of the run has passed.
    save: the first process asked for a checkpoint. abandoned: a signal came in any process before
    the gradient was complete, and nothing was changed.
    """

    values: dict[str, float]
    stop: bool
    save: bool
    abandoned: bool = False


def read(values: dict[str, Tensor]) -> dict[str, float]:
    """Return scalars as numbers, by a single read of the device, because each read waits for it."""
    numbers = torch.stack([value.detach().float() for value in values.values()]).tolist()
    return dict(zip(values, numbers, strict=True))

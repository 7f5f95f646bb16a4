"""The base of all experiments: settings, their check, and the method that runs them."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch

from qse.config import require_positive
from qse.torch_device import torch_device


@dataclass(frozen=True)
class Experiment(ABC):
    """Settings of an experiment.

    FULL: settings of the paper, as a configuration. MAY_BE_ZERO: numbers that need not be above 0.
    FREE: settings that may differ between the runs of one folder.
    """

    FULL: ClassVar[dict[str, Any]] = {}
    MAY_BE_ZERO: ClassVar[tuple[str, ...]] = ("seed",)
    FREE: ClassVar[tuple[str, ...]] = ("arms", "seeds", "device")

    def __post_init__(self) -> None:
        """Check the settings. Raises ValueError for a number that is not above 0 and finite."""
        for name, value in vars(self).items():
            if type(value) in (int, float) and name not in self.MAY_BE_ZERO:
                require_positive(self, name)

    def require_known(self, name: str, known: Iterable[str]) -> None:
        """Raise ValueError if the list `name` is empty or has an entry that is not in `known`."""
        given = getattr(self, name)
        if not given or set(given) - set(known):
            raise ValueError(f"{name} = {list(given)}: choose from {', '.join(known)}")

    @abstractmethod
    def run(self, out: Path) -> str:
        """Run the experiment, write its results into the folder `out`, and return a summary."""


@dataclass(frozen=True)
class OnDevice(Experiment):
    """Settings of an experiment whose networks train on `device`: cpu, cuda, cuda:N or mps.

    Random numbers are drawn on the CPU, so that all devices train on the same batches.
    """

    device: str = "cpu"

    def __post_init__(self) -> None:
        super().__post_init__()
        torch_device(self.device)


def device_of(network: torch.nn.Module) -> torch.device:
    """Return the device of the weights of a network."""
    return next(network.parameters()).device

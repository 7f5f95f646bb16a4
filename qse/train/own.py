"""Hold what a caller brings to a training run as objects, in the place of what the configuration
names."""

from dataclasses import dataclass

from ..data.source import BatchSource
from ..losses.loss_config import LossConfig
from ..losses.terms import LossTerm
from ..losses.weighted_sum import WeightedSum
from ..networks import Network


@dataclass(frozen=True)
class Own:
    """Network, loss and source of batches of a run; None: that of the configuration."""

    network: Network | None = None
    loss: LossConfig | WeightedSum | LossTerm | None = None
    source: BatchSource | None = None


NOTHING_OWN = Own()

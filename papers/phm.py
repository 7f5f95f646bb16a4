"""PHM layers learn a rotation and the Hamilton product (Zhang et al. 2021, Figure 2)."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from qse.nn.quaternion import hamilton_product

from .base import OnDevice, device_of
from .fit import fit
from .networks.hypercomplex import HypercomplexLinear, hamilton_rule
from .plots import plot_curves
from .results import Row, write_results

Batch = Callable[[], tuple[Tensor, ...]]


def rotation(axis: Tensor, angle: float) -> Tensor:
    """Return the rotation matrix (3, 3) for the unit vector `axis`, by Rodrigues' formula."""
    x, y, z = axis.tolist()
    cross = torch.tensor([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return torch.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross


class HypercomplexProduct(nn.Module):
    """Multiply w, x (N, 4) -> (N, 4) by Eq. 5 with S_i = w_i; only the rule is learned."""

    def __init__(self) -> None:
        super().__init__()
        self.rule = nn.Parameter(torch.randn(4, 4, 4) / 2)

    def forward(self, w: Tensor, x: Tensor) -> Tensor:
        return torch.einsum("ni,iab,nb->na", w, self.rule, x)


@dataclass(frozen=True)
class Rotation(OnDevice):
    """Train a PHM layer with n = 3 to rotate points about a random axis."""

    steps: int = 1000
    batch: int = 32
    learning_rate: float = 1e-2
    seed: int = 0

    def run(self, out: Path) -> str:
        torch.manual_seed(self.seed)
        matrix = rotation(nn.functional.normalize(torch.randn(3), dim=0), 1.0)
        layer = HypercomplexLinear(3, 3, 3, bias=False).to(self.device)

        def batch() -> tuple[Tensor, ...]:
            x = torch.randn(self.batch, 3)
            return x, x @ matrix.T

        curve = learn(layer, batch, self.steps, self.learning_rate, "phm-rotation")
        error = (layer.weight().cpu() - matrix).abs().max().item()
        loss = write(out / "phm-rotation", error, curve)
        return f"PHM layer, n = 3: loss {loss:.1e}, its matrix within {error:.1e} of the rotation"


@dataclass(frozen=True)
class HamiltonRule(OnDevice):
    """Train the rule on products x (x) w of random quaternions, and compare it with Hamilton's."""

    steps: int = 1000
    batch: int = 32
    learning_rate: float = 3e-2
    seed: int = 0

    def run(self, out: Path) -> str:
        torch.manual_seed(self.seed)
        layer = HypercomplexProduct().to(self.device)

        def batch() -> tuple[Tensor, ...]:
            w, x = torch.randn(2, self.batch, 4)
            return w, x, hamilton_product(x, w)

        curve = learn(layer, batch, self.steps, self.learning_rate, "phm-hamilton")
        error = (layer.rule.cpu() - hamilton_rule()).abs().max().item()
        loss = write(out / "phm-hamilton", error, curve)
        return f"PHM rule, n = 4: loss {loss:.1e}, every entry within {error:.1e} of Hamilton's"


def learn(
    layer: nn.Module, batch: Batch, steps: int, learning_rate: float, title: str
) -> list[Row]:
    """Minimise the mean squared error with Adam and a cosine schedule; return a row with the loss
    of each step."""
    device = device_of(layer)
    optimizer = torch.optim.Adam(layer.parameters(), learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)

    def loss_of_batch() -> Tensor:
        *inputs, wanted = [part.to(device) for part in batch()]
        return (layer(*inputs) - wanted).square().mean()

    rows: list[Row] = []
    for step, loss in fit(loss_of_batch, optimizer, steps, schedule=schedule, title=title):
        rows.append({"step": step, "loss": loss, "layer": type(layer).__name__})
    return rows


def write(stem: Path, error: float, curve: list[Row]) -> float:
    """Write the result of a layer, its last loss and the largest error of what it has learned;
    return that loss."""
    loss = curve[-1]["loss"]
    row = {"layer": curve[0]["layer"], "steps": len(curve), "loss": loss, "largest error": error}
    write_results(stem, [row], curve)
    plot_curves(stem.with_suffix(".png"), curve, x="step", y="loss", by="layer", log=True)
    return loss

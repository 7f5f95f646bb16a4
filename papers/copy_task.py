"""Copy task (Parcollet et al. 2019, section 3.1, Figure 1): repeat a binary sequence after a gap.

Compares a quaternion and a real recurrent network with about as many parameters. Input: L vectors
of bits, B blanks with a delimiter at their end, L blanks. Output: the L vectors, after the
delimiter. The hidden activation is linear, the output a sigmoid; the loss is the binary
cross-entropy of the copied bits, log 2 without any memory.
"""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from qse.networks.algebra import convert_

from .base import OnDevice
from .fit import fit
from .networks.count import parameter_count
from .nn.cells import QuaternionRNN
from .plots import plot_curves, plot_pictures
from .results import Row, summary, write_results

BITS = 8
SUMMARY = (
    "{network} ({parameters:,} parameters): loss {loss:.3f} after {steps} steps, "
    "{% of new bits:.2f} % of new bits"
)
NOTE = (
    "{0.length} vectors of 8 bits after {0.blanks} blanks, {0.sequences} sequences; a network is "
    "trained until its loss is below {0.target}, or for {0.steps} steps. copy-task-sequence.png "
    "shows a new sequence and what each network makes of it."
)


class Copier(nn.Module):
    """(N, T, 12) -> (N, L, BITS) logits; one recurrent layer of `hidden` quaternions."""

    def __init__(self, hidden: int, algebra: str):
        super().__init__()
        self.rnn = QuaternionRNN(3, hidden, "linear")
        convert_(self.rnn, algebra)
        self.out = nn.Linear(4 * hidden, BITS)

    def forward(self, x: Tensor, length: int) -> Tensor:
        y, _ = self.rnn(x.unflatten(-1, (4, -1)))
        return self.out(y[:, -length:].flatten(-2))


@dataclass(frozen=True)
class CopyTask(OnDevice):
    """Settings; FULL holds those of the paper.

    hidden: units of the real network; the quaternion network has half as many quaternions, that is
    twice as many units, and the same number of recurrent weights.
    """

    hidden: int = 256
    length: int = 10
    blanks: int = 5
    sequences: int = 2500
    batch: int = 50
    learning_rate: float = 3e-4
    target: float = 0.1
    steps: int = 1000
    seed: int = 0

    FULL = {"hidden": 512, "length": 20, "blanks": 10, "steps": 100000}
    MAY_BE_ZERO = ("seed", "blanks")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hidden % 4:
            raise ValueError(f"hidden {self.hidden}: must be a multiple of 4")

    def run(self, out: Path) -> str:
        curves: list[Row] = []
        table: list[Row] = []
        new, bits = self.sequence(1, torch.Generator().manual_seed(self.seed + 1))
        pictures = {"input": bits[0].T}
        for name in ("RNN", "QRNN"):
            network, row = self._train(name, curves)
            table.append(row)
            with torch.no_grad():
                output = network(new.to(self.device), self.length)[0]
                pictures[name] = output.sigmoid().T.cpu()
        write_results(out / "copy-task", table, curves, NOTE.format(self))
        plot_curves(out / "copy-task.png", curves, x="step", y="loss", by="network", log=True)
        plot_pictures(out / "copy-task-sequence.png", pictures, ("step", "bit"))
        return summary(table, SUMMARY)

    def sequence(self, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Draw x (count, 2 L + B, 12) and the bits to copy (count, L, BITS)."""
        bits = torch.randint(2, (count, self.length, BITS), generator=generator).float()
        x = torch.zeros(count, 2 * self.length + self.blanks, 12)
        x[:, : self.length, :BITS] = bits
        x[:, self.length + self.blanks - 1, BITS] = 1  # the delimiter
        return x, bits

    def _train(self, name: str, rows: list[Row]) -> tuple[nn.Module, Row]:
        """Train a network until its loss is below `target`; add a row per step. Return it with its
        row of the table."""
        torch.manual_seed(self.seed)
        generator = torch.Generator().manual_seed(self.seed)
        x, bits = self.sequence(self.sequences, generator)
        quaternion = Copier(self.hidden // 2, "quaternion") if name == "QRNN" else None
        network = (quaternion or Copier(self.hidden // 4, "real")).to(self.device)
        optimizer = torch.optim.Adam(network.parameters(), self.learning_rate)

        def loss_of_batch() -> Tensor:
            chosen = torch.randint(len(x), (self.batch,), generator=generator)
            logits = network(x[chosen].to(self.device), self.length)
            return F.binary_cross_entropy_with_logits(logits, bits[chosen].to(self.device))

        for step, loss in fit(loss_of_batch, optimizer, self.steps, title=name):
            rows.append({"network": name, "step": step, "loss": loss})
            if loss < self.target:
                break

        correct = 100 * self.accuracy(network, generator)
        count = parameter_count(network)
        row = {"network": name, "parameters": count, "loss": loss, "steps": step}
        return network, row | {"% of new bits": correct}

    @torch.no_grad()
    def accuracy(self, network: nn.Module, generator: torch.Generator) -> float:
        """Return the share of correct bits in ten sequences that were not trained on."""
        x, bits = self.sequence(10, generator)
        guesses = (network(x.to(self.device), self.length) > 0).cpu()
        return (guesses == (bits > 0.5)).float().mean().item()

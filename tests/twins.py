"""What the tests of the trainer share, and what two processes do in one of them; a process imports little with it."""

import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor, nn

from qse.errors import QseError
from qse.networks import build_network, enhance
from qse.train import checkpoint
from qse.train.parallel import gather
from qse.train.trainer import TrainConfig, Trainer

TINY = {
    "network": "streaming", "n_fft": 64, "hop_length": 32, "ranges": ((32, 2),), "channels": (2, 2, 4), "growth": 2,
    "dilations": (1, 2), "blocks": 1, "heads": 2,
}  # fmt: skip
PLAN = TrainConfig(batch=2, steps=7, warmup_steps=2, checkpoint_every=3, valid_every=4, ema_decay=0.9)


def batches(step: int, size: int = 4) -> tuple[Tensor, Tensor]:
    """Noise, and what is to be made of it: (size, 6) each."""
    x = torch.randn(size, 6, generator=torch.Generator().manual_seed(step))
    return x, x.flip(1)


def squared_error(network: nn.Module, noisy: Tensor, clean: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    error = (network(noisy) - clean).square().mean()
    return error, {"error": error.detach()}


def linear(rank: int, size: int) -> Trainer:
    """Trains on `size` of the eight items of a batch."""
    torch.manual_seed(0)

    def source(step):
        return tuple(x[rank * size :][:size] for x in batches(step, 8))

    return Trainer(nn.Linear(6, 6), squared_error, source, replace(PLAN, clip_norm=1e9), torch.device("cpu"), rank)


def live(plan: TrainConfig, rank: int = 0) -> Trainer:
    """The smallest live network, that is to halve noise."""
    torch.manual_seed(0)

    def source(step):
        noisy = 0.1 * torch.randn(2, 640, generator=torch.Generator().manual_seed(100 * step + rank))
        return noisy, 0.5 * noisy

    def loss(network, noisy, clean):
        return squared_error(lambda x: enhance(network, x), noisy, clean)

    return Trainer(build_network(TINY), loss, source, plan, torch.device("cpu"), rank)


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    """Raises AssertionError when not every bit is."""
    assert one.keys() == other.keys()
    assert [name for name in one if not torch.equal(one[name], other[name])] == []


def copies(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Without the count of batches, which goes on when a step is left out."""
    return {name: tensor.clone() for name, tensor in tensors.items() if "num_batches" not in name}


def work(rank: int, processes: int, folder: Path) -> None:
    """Findings go to a file of each process; in the end one of them fails."""
    half = linear(rank, 4)
    half.step()
    found = {f"gradient.{name}": p.grad for name, p in half.network.named_parameters()}
    run = live(PLAN, rank)
    terms = [run.step()[0]["loss"] for _ in range(2)]
    stops = [run.step(stop=rank == 1)[1], run.step()[1]]
    kept, source = copies(run.tensors()), run.batches
    run.batches = lambda step: tuple(float("nan") * x for x in source(step)) if rank == 1 else source(step)
    run.step()
    same(kept, copies(run.tensors()))
    findings = {"terms": terms, "stops": stops, "skipped": run.skipped, "samples": half.heard}
    findings |= {"gathered": gather([rank, 10 + rank])}
    found |= {f"live.{name}": tensor for name, tensor in kept.items()}
    checkpoint.save(folder / f"{rank}.safetensors", found, {"findings": json.dumps(findings)})
    if rank == 1:
        raise QseError("this is how it ends")


def interrupted(rank: int, processes: int) -> None:
    """Ctrl-C while the corpora are read: the terminal tells all processes."""
    os.kill(os.getppid(), signal.SIGINT)
    raise KeyboardInterrupt


def killed(rank: int, processes: int) -> None:
    """As the system does to whom memory runs out."""
    os.kill(os.getpid(), signal.SIGKILL)

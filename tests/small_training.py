"""Shared by the tests of training: tiny networks and runs, and the work of processes in tests of
several processes."""

import json
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor, nn

from qse.data.mix_config import MixConfig
from qse.data.source import Batch
from qse.errors import QseError
from qse.losses.loss_config import LossConfig
from qse.networks import build_network
from qse.networks.weights import load_tensors
from qse.train import checkpoint
from qse.train.exchange import gather
from qse.train.job import Job
from qse.train.parallel import own_device
from qse.train.recipe import RunConfig
from qse.train.stateful_training import TrainingLoss
from qse.train.stopping import StepAbandoned
from qse.train.train_config import TrainConfig
from qse.train.trainer import Trainer

TINY = {
    "network": "streaming",
    "n_fft": 64,
    "hop_length": 32,
    "ranges": ((32, 2),),
    "channels": (2, 2, 4),
    "growth": 2,
    "dilations": (1, 2),
    "blocks": 1,
    "heads": 2,
}
PLAN = TrainConfig(
    batch=2, steps=7, warmup_steps=2, checkpoint_every=3, valid_every=4, ema_decay=0.9
)
LOSS = LossConfig(mrstft=0, si_sdr=1, rms=1, complex_l1=0, pesq=0)
CONFIG = RunConfig(TINY, MixConfig(segment=0.25, rooms=2), LOSS, PLAN)
CPU = torch.device("cpu")


def job(audio: Path, out: Path, **changes) -> Job:
    """A run on the folders in `audio`, see the fixture training_audio."""
    return Job(audio / "speech", audio / "noise", out, **{"valid": audio / "valid", **changes})


def lines(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file, as text."""
    head, *rows = path.read_text().splitlines()
    return [dict(zip(head.split(","), row.split(","), strict=True)) for row in rows]


class Reports:
    """Keep the rows that a run reports."""

    def __init__(self):
        self.rows = []
        self.stages = []
        self.closed = False

    def __call__(self, row, plan):
        self.rows.append(row)

    def stage(self, what, done, total):
        self.stages.append((what, done, total))

    def close(self):
        self.closed = True


def batches(step: int, share: int = 0, size: int = 4) -> Batch:
    """Noise, and what is to be made of it: (size, 6) each."""
    x = torch.randn(size, 6, generator=torch.Generator().manual_seed(step))
    return Batch(x, x.flip(1), 16000)


def spoilt(batch: Batch) -> Batch:
    """Return the batch without a number in it."""
    return batch._replace(noisy=float("nan") * batch.noisy)


def squared_error(
    network: nn.Module, batch: Batch, carried: dict[str, Tensor]
) -> tuple[Tensor, dict[str, Tensor], dict[str, Tensor]]:
    error = (network(batch.noisy) - batch.clean).square().mean()
    return error, {"error": error.detach()}, {}


def linear(rank: int, size: int, accumulate: int = 1) -> Trainer:
    """Trains on `size` of the eight items of a batch, `accumulate` times."""
    torch.manual_seed(0)

    def source(step, share):
        noisy, clean, rate, _ = batches(step, size=8)
        mine = slice(share * size, (share + 1) * size)
        return Batch(noisy[mine], clean[mine], rate)

    plan = replace(PLAN, clip_norm=1e9, accumulate=accumulate)
    return Trainer(nn.Linear(6, 6), squared_error, source, plan, CPU, rank)


def live(plan: TrainConfig, rank: int = 0) -> Trainer:
    """The smallest live network, that is to halve noise."""
    torch.manual_seed(0)

    def source(step, share):
        noisy = 0.1 * torch.randn(
            2, 640, generator=torch.Generator().manual_seed(100 * step + share)
        )
        return Batch(noisy, 0.5 * noisy, 16000)

    def loss(network, batch, carried):
        return squared_error(lambda x: network.enhance(x), batch, carried)

    return Trainer(build_network(TINY), loss, source, plan, CPU, rank)


def carrying(rank: int = 0, done: int = 0, plan: TrainConfig | None = None) -> Trainer:
    """The smallest streaming network, trained for `done` steps in which half of the items
    continue."""
    torch.manual_seed(0)
    plan = plan or replace(PLAN, carry_state_probability=0.5)

    def source(step, share):
        noisy = 0.1 * torch.randn(
            4, 640, generator=torch.Generator().manual_seed(100 * step + share)
        )
        return Batch(noisy, 0.5 * noisy, 16000)

    network = build_network(TINY)
    nn.init.normal_(network.decoder.head.weight, std=0.3)  # so that states matter
    run = Trainer(
        network, TrainingLoss(LOSS, plan.carry_state_probability), source, plan, CPU, rank
    )
    for _ in range(done):
        run.step()
    return run


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    """Raises AssertionError when not every bit is."""
    assert one.keys() == other.keys()
    assert [name for name in one if not torch.equal(one[name], other[name])] == []


def copies(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Clone tensors, without the counts of batches, which rise when a step is left out too."""
    return {name: tensor.clone() for name, tensor in tensors.items() if "num_batches" not in name}


def resume(rank: int, folder: Path) -> None:
    """Write what a process has after four steps: uninterrupted, and resumed from the checkpoint of
    the first one."""
    on = carrying(rank, done=2)
    tensors = on.tensors()
    if rank == 0:
        checkpoint.save(folder / "checkpoint.safetensors", tensors, on.header(), None)
    gather([rank])  # wait for the file
    rest = carrying(rank)
    rest.restore(*load_tensors(folder / "checkpoint.safetensors"))
    for run, name in ((on, "on"), (rest, "rest")):
        terms = [run.step()[0]["loss"] for _ in range(2)]
        checkpoint.save(
            folder / f"{name}{rank}.safetensors", run.tensors(), {"terms": json.dumps(terms)}, None
        )


@contextmanager
def given_up():
    """Abandon a step when its gradient is complete."""
    yield
    raise StepAbandoned


def work(rank: int, processes: int, folder: Path) -> None:
    """Write the findings of each process to a file; in the end one of them fails."""
    resume(rank, folder)
    half = linear(rank, 4)
    half.step()
    found = {f"gradient.{name}": p.grad for name, p in half.network.named_parameters()}
    run = live(PLAN, rank)
    terms = [run.step()[0]["loss"] for _ in range(2)]
    stops = [run.step(stop=rank == 1)[1], run.step()[1]]
    abandoned = []
    for wanting in (0, 1, None):
        way = given_up if rank == wanting else nullcontext
        abandoned.append(run.step(abandonable=way).abandoned)
    kept = copies(run.tensors())
    source = run.batches

    def spoilt_in_one(step, share):
        batch = source(step, share)
        return spoilt(batch) if rank == 1 else batch

    run.batches = spoilt_in_one
    run.step()
    same(kept, copies(run.tensors()))
    findings = {"terms": terms, "stops": stops, "skipped": run.skipped, "samples": half.heard}
    findings["abandoned"] = abandoned
    findings |= {"gathered": gather([rank, 10 + rank])}
    findings |= {"devices": [str(own_device(name, rank)) for name in ("cpu", "cuda")]}
    found |= {f"live.{name}": tensor for name, tensor in kept.items()}
    checkpoint.save(folder / f"{rank}.safetensors", found, {"findings": json.dumps(findings)}, None)
    if rank == 1:
        raise QseError("this is how it ends")

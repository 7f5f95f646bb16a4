"""What is asked of a training run, and whether it can be done."""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from ..data import sources
from ..data.datasets import SAMPLE_RATE
from ..errors import QseError, UsageError
from ..extras import need
from ..losses.composite import composite
from ..networks import build_network, weights
from .optimizers import optimizers
from .recipe import RunConfig
from .stateful_training import compared
from .validation import find_pairs
from .warm_start import start_from


@dataclass(frozen=True)
class Job:
    """Where a run reads and writes, and how long it may take.

    speech and noise, or data: the folder of the recipe's corpus. valid: pairs; without it those of the corpus, if any.
    start: the model, by name or folder, or the folder of the run whose weights are the first ones.
    """

    speech: Path | None
    noise: Path | None
    out: Path
    valid: Path | None = None
    hours: float | None = None
    processes: int = 1
    device: str = "cpu"
    resume: bool = False
    data: Path | None = None
    start: str | Path | None = None

    def again(self) -> str:
        """The options of `qse train` that the result hangs on, beside its configuration and what it began with."""
        options = "--data DATA" if self.data else "--speech SPEECH --noise NOISE"
        options += " --valid VALID" if self.valid else ""
        return options + (f" --processes {self.processes}" if self.processes > 1 else "")


REMAINS = ("checkpoint.safetensors", "best.safetensors", "train.csv", "valid.csv")  # of a run, whole or not


def check(config: RunConfig, job: Job) -> None:
    """Raises QseError for what would go wrong later: before anything is written, and any audio read."""
    last = job.out / "checkpoint.safetensors"
    if not job.resume and any((job.out / name).exists() for name in REMAINS):
        raise QseError(f"{job.out}: holds a run already; continue it with --resume or name another folder")
    if job.resume and not last.exists():
        raise QseError(f"{last}: no checkpoint to resume from")
    if bool(job.speech) != bool(job.noise) or bool(job.speech) == bool(job.data):
        raise UsageError("say what to train on: --speech DIR and --noise DIR, or --data DIR with a corpus's recipe")
    if job.data and config.dataset not in sources.CORPORA:
        known = " or ".join(sources.CORPORA)
        raise UsageError(f"--data needs a recipe with a dataset ({known}), this one has {config.dataset or 'none'}")
    if job.start and job.resume:
        raise UsageError("--resume goes on with a run, --from begins one: leave one of them out")
    if job.device not in ("cpu", "cuda"):
        raise UsageError(f"--device {job.device}: choose cpu or cuda")
    if job.device == "cuda" and job.processes > 1:
        raise UsageError(f"--processes {job.processes}: they would share one GPU; leave it out with --device cuda")
    if job.device == "cuda" and not torch.cuda.is_available():
        raise UsageError("--device cuda: PyTorch finds no GPU here; install its CUDA build, or leave --device out")
    network = build_network(config.model)
    if job.start:
        start_from(network, job.start)
    if job.resume:
        _fits(network, last)
    rate = network.config.sample_rate
    if job.data and rate != SAMPLE_RATE:
        raise QseError(f"{job.data}: its copies are at {SAMPLE_RATE} Hz, model.sample_rate is {rate}: make them equal")
    if rate != config.mix.sample_rate:
        raise QseError(f"model.sample_rate is {rate}, mix.sample_rate {config.mix.sample_rate}: make them equal")
    if rate != SAMPLE_RATE and (config.loss.pesq or config.loss.stoi):
        raise QseError(
            f"the losses pesq and stoi hear {SAMPLE_RATE} Hz, the model works at {rate}: set their weights to 0"
        )
    _heard(config, network)
    optimizers(network, config.train.optimizer, config.train.betas, config.train.weight_decay)
    if job.valid or (job.data and sources.validates(config.dataset)):
        for package in ("pesq", "pystoi", "matplotlib"):  # which score and draw at the first validation
            need(package, "train")
    if job.valid:
        find_pairs(job.valid, rate)


def _heard(config: RunConfig, network: nn.Module) -> None:
    """Raises QseError when a segment is too short for the losses: each reads whole frames, and STOI 30 of them."""
    samples = compared(network, config.mix.samples, config.train.carry_state_probability)
    signal = torch.zeros(1, max(1, samples))
    try:
        composite(config.loss, clean=signal, enhanced=signal)
        enough = samples >= (0.4 * config.mix.sample_rate if config.loss.stoi else 1)
    except RuntimeError:
        enough = False
    if not enough:
        raise QseError(f"mix.segment is {config.mix.segment:g} s, too short for the losses: make it longer")


def _fits(network: nn.Module, path: Path) -> None:
    """Raises QseError when the checkpoint at `path` is of another model."""
    tensors, _ = weights.load(path)
    try:
        network.load_state_dict(weights.pick(tensors, "model"))
    except RuntimeError as error:
        raise QseError(f"{path}: not a checkpoint of this model; resume with the run's own config.toml") from error

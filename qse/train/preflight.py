"""Check the configuration of a training run before any audio is read and anything is written."""

from typing import NamedTuple

import torch

from ..data import sources
from ..data.datasets import SAMPLE_RATE
from ..errors import QseError, UsageError
from ..extras import need
from ..losses.composite import composite
from ..networks import Network, build_network, weights
from . import checkpoint
from .job import Job
from .optimizers import optimizers
from .recipe import RunConfig
from .stateful_training import compared_samples
from .validation import find_pairs
from .warm_start import start_from

RUN_FILES = ("checkpoint.safetensors", "best.safetensors", "train.csv", "valid.csv")  # of a run, complete or not


class Start(NamedTuple):
    """The network that a run trains, and the header of the file that its weights come from; {} if they are new."""

    network: Network
    header: dict[str, str]


def prepare(config: RunConfig, job: Job) -> Start:
    """Build the network of a run. Raises QseError or UsageError for anything that would fail later."""
    _check_folder(job)
    _check_sources(config, job)
    _check_device(job)
    start = _start(config, job)
    _check_rates(config, job, start.network.config.sample_rate)
    _check_losses(config, start.network)
    optimizers(start.network, config.train.optimizer, config.train.betas, config.train.weight_decay)
    _check_validation(config, job)
    return start


def _check_folder(job: Job) -> None:
    if not job.resume and any((job.out / name).exists() for name in RUN_FILES):
        raise QseError(f"{job.out}: holds a run already; continue it with --resume or name another folder")
    if job.resume and not job.checkpoint.exists():
        raise QseError(f"{job.checkpoint}: no checkpoint to resume from")


def _check_sources(config: RunConfig, job: Job) -> None:
    if bool(job.speech) != bool(job.noise) or bool(job.speech) == bool(job.data):
        raise UsageError("say what to train on: --speech DIR and --noise DIR, or --data DIR with a corpus's recipe")
    if job.cache and job.data:
        raise UsageError("--cache is for --speech and --noise; the copies of a corpus lie beside it")
    if job.data and config.dataset not in sources.CORPORA:
        known = " or ".join(sources.CORPORA)
        raise UsageError(f"--data needs a recipe with a dataset ({known}), this one has {config.dataset or 'none'}")
    if job.start and job.resume:
        raise UsageError("--resume continues a run, --from starts one: leave one of them out")


def _check_device(job: Job) -> None:
    if job.device not in ("cpu", "cuda"):
        raise UsageError(f"--device {job.device}: choose cpu or cuda")
    if job.device == "cuda" and job.processes > 1:
        raise UsageError(f"--processes {job.processes}: they would share one GPU; leave it out with --device cuda")
    if job.device == "cuda" and not torch.cuda.is_available():
        raise UsageError("--device cuda: PyTorch finds no GPU here; install its CUDA build, or leave --device out")


def _start(config: RunConfig, job: Job) -> Start:
    """Build the network, by the seed of the run, with the weights to start from; check that a checkpoint fits."""
    torch.manual_seed(config.train.seed)
    try:
        network = build_network(config.model)
    except QseError as error:
        raise QseError(f"{job.out / 'config.toml'}: {error}" if job.resume else str(error)) from error
    if job.resume:
        tensors, _ = checkpoint.load(job.checkpoint)
        try:
            network.load_state_dict(weights.pick(tensors, "model"))
        except RuntimeError as error:
            path = job.checkpoint
            raise QseError(f"{path}: not a checkpoint of this model; resume with the run's own config.toml") from error
    return Start(network, start_from(network, job.start) if job.start else {})


def _check_rates(config: RunConfig, job: Job, rate: int) -> None:
    """Raise QseError where corpus, model, mixing, and losses have different sample rates."""
    if job.data and rate != SAMPLE_RATE:
        raise QseError(f"{job.data}: its copies are at {SAMPLE_RATE} Hz, model.sample_rate is {rate}: make them equal")
    if rate != config.mix.sample_rate:
        raise QseError(f"model.sample_rate is {rate}, mix.sample_rate {config.mix.sample_rate}: make them equal")
    if rate % SAMPLE_RATE and (config.loss.pesq or config.loss.stoi):
        cure = "set their weights to 0"
        raise QseError(
            f"the losses pesq and stoi need a multiple of {SAMPLE_RATE} Hz, the model works at {rate}: {cure}"
        )


def _check_losses(config: RunConfig, network: Network) -> None:
    """Raise QseError where network or segment do not fit the losses, which need whole frames, STOI 30 of them."""
    if config.loss.needs_specs and network.streams:
        raise QseError("loss.complex_l1_of is mask, which needs an offline network: set it to waveform")
    samples = compared_samples(network, config.mix.samples, config.train.carry_state_probability)
    signal, spec = torch.zeros(1, max(1, samples)), torch.zeros(1, 2, 1, 1)
    signals = dict.fromkeys(("clean", "enhanced", "noisy"), signal)
    try:
        composite(config.loss, **signals, sample_rate=config.mix.sample_rate, specs=(spec, spec))
        enough = samples >= (0.4 * config.mix.sample_rate if config.loss.stoi else 1)
    except RuntimeError:
        enough = False
    if not enough:
        raise QseError(f"mix.segment is {config.mix.segment:g} s, too short for the losses: make it longer")


def _check_validation(config: RunConfig, job: Job) -> None:
    validates = job.valid or (job.data and sources.validates(config.dataset))
    if job.unknown and not validates:
        raise UsageError("--unknown needs --valid, pairs of known sources to compare with")
    if validates:
        for package in ("pesq", "pystoi", "matplotlib"):  # used at the first validation
            need(package, "train")
    for folder in filter(None, (job.valid, job.unknown)):
        find_pairs(folder, config.mix.sample_rate)

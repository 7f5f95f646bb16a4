"""Check the configuration of a training run before any audio is read and anything is written."""

from math import ceil
from typing import NamedTuple

import torch

from ..audio.file_mode import Sources
from ..data import open_sources
from ..data.datasets import SAMPLE_RATE
from ..data.multi_rate import WIDE_BAND
from ..data.source import Batch
from ..errors import QseError, UsageError
from ..extras import need
from ..losses.weighted_sum import WeightedSum, as_loss
from ..model_folder import CONFIG
from ..networks import Network, build_network, weights
from ..nn.contract import verify_briefly
from ..torch_device import torch_device
from . import checkpoint
from .job import Job, check_folder
from .optimizers import optimizers
from .parallel import processes_here
from .recipe import NOTHING_OWN, Own, RunConfig
from .stateful_training import check_enrolment, check_look_ahead, least_segment
from .train_config import TrainConfig
from .validation_pairs import find_pairs, rate_of
from .warm_start import first_weights, start_from


class Start(NamedTuple):
    """The network that a run trains, the header of the file that its weights come from, {} if they
    are new, and the files that they come from."""

    network: Network
    header: dict[str, str]
    sources: Sources


def prepare(config: RunConfig, job: Job, own: Own = NOTHING_OWN) -> Start:
    """Build the network of a run.

    Raises QseError or UsageError for anything that would fail later.
    """
    check_folder(job)
    _check_device(job)
    if config.train.tensorboard:
        need("tensorboard", "tensorboard")
    if config.train.by_clock and not job.hours:
        raise UsageError("train.by_clock: the rate follows the time limit; say how many hours")
    if own.source is None:
        _check_sources(config, job)
    if config.train.mix_processes and (own.source is not None or job.parts):
        what = "bundles are" if job.parts else "a source of one's own is"
        raise UsageError(f"train.mix_processes: {what} mixed in the training itself; set it to 0")
    if job.start and job.resume:
        raise UsageError(
            "resume continues a run, start begins one from other weights: leave one of them out"
        )
    start = _start(config, job, own.network)
    if start.network.streams:
        verify_briefly(start.network, start.network.config.hop_length)
    check_look_ahead(config.train.look_ahead, start.network)
    check_enrolment(config.mix, config.train, start.network)
    try:
        loss = as_loss(own.loss or config.loss)
    except ValueError as error:
        raise QseError(str(error)) from error
    if loss.needs_discriminator:
        need("pesq", "train")
    if own.source is None:
        _check_rates(config, job, start.network.config.sample_rate)
        _check_losses(config, start.network, loss)
    else:
        check_batch(own.source.batch(0, config.train.batch), start.network, loss, config.train)
    optimizers(start.network, config.train.optimizer, config.train.betas, config.train.weight_decay)
    _check_validation(config, job, start.network)
    return start


def _check_sources(config: RunConfig, job: Job) -> None:
    kinds = [bool(job.speech), bool(job.data), bool(job.bundles), bool(job.watch)]
    if bool(job.speech) != bool(job.noise) or sum(kinds) != 1:
        raise UsageError(
            "say what to train on: speech=DIR and noise=DIR, or bundles=DIR or watch=DIR with the "
            "parts of a bundle, or data=DIR with a corpus's recipe"
        )
    if job.cache and job.data:
        raise UsageError(
            "cache=DIR is for speech=DIR and noise=DIR, or the parts of a bundle; "
            "QSE_CACHE names the folder for copies of a corpus"
        )
    if job.parts and not job.parts.is_dir():
        raise QseError(f"{job.parts}: no such folder; name the one with the parts of a bundle")
    if job.data and not config.dataset:
        known = " or ".join(open_sources.CORPORA)
        raise UsageError(f"data=DIR needs a recipe with a dataset ({known}), this one has none")
    if job.data:
        open_sources.find_corpus(config.dataset)


def _check_device(job: Job) -> None:
    device = torch_device(job.device)
    if job.processes == 1 or device.type == "cpu":
        return
    if job.device != "cuda":
        raise UsageError(
            f"device={job.device}: of several processes each needs a GPU of its own; say "
            "device=cuda, or train in one process"
        )
    here = processes_here(job.processes)
    found = torch.cuda.device_count()
    if here > found:
        raise UsageError(
            f"processes={here}: PyTorch finds {found} GPUs here, and each process needs its own"
        )


def _start(config: RunConfig, job: Job, network: Network | None) -> Start:
    """Build the network, by the seed of the run, with the weights to start from; check that a
    checkpoint fits."""
    torch.manual_seed(config.train.seed)
    try:
        network = network or build_network(config.model)
    except QseError as error:
        raise QseError(
            f"{job.out / 'config.toml'}: {error}" if job.resume else str(error)
        ) from error
    files = [job.recipe] if job.recipe else []
    if job.resume:
        with Sources([*files, job.checkpoint, job.out / CONFIG]) as sources:
            tensors = checkpoint.load_checkpoint(job.checkpoint, network)[0]
        try:
            network.load_state_dict(weights.pick(tensors, "model"))
        except RuntimeError as error:
            path = job.checkpoint
            raise QseError(
                f"{path}: not a checkpoint of this model; resume with the run's own config.toml"
            ) from error
        return Start(network, {}, sources)
    if job.start:
        files.append(first_weights(job.start))
    with Sources(files) as sources:
        return Start(network, start_from(network, job.start) if job.start else {}, sources)


def _check_rates(config: RunConfig, job: Job, rate: int) -> None:
    """Raise QseError where corpus, model, mixing, and losses have different sample rates."""
    if job.data and config.dataset in open_sources.CORPORA and rate != SAMPLE_RATE:
        raise QseError(
            f"{job.data}: its copies are at {SAMPLE_RATE} Hz, model.sample_rate is {rate}: "
            "make them equal"
        )
    if rate != config.mix.sample_rate:
        raise QseError(
            f"model.sample_rate is {rate}, mix.sample_rate {config.mix.sample_rate}: "
            "make them equal"
        )
    if rate % SAMPLE_RATE and (config.loss.pesq or config.loss.stoi or config.loss.discriminator):
        cure = "set their weights to 0"
        raise QseError(
            f"the losses pesq, stoi and discriminator need a multiple of {SAMPLE_RATE} Hz, "
            f"the model works at {rate}: {cure}"
        )


def _check_losses(config: RunConfig, network: Network, loss: WeightedSum) -> None:
    """Raise QseError where the network does not fit the losses, or segments are too short for whole
    frames of them."""
    if loss.needs_specs and not network.has_spec:
        raise QseError(
            "loss.complex_l1_of is mask, which needs an offline network: set it to waveform"
        )
    networks = {config.mix.sample_rate: network}
    if config.mix.sample_rate > WIDE_BAND and config.train.wide_band_share:
        share = f"train.wide_band_share is {config.train.wide_band_share:g}: set it to 0"
        networks[WIDE_BAND] = _at(network, WIDE_BAND, share)
    least = 0.0  # seconds
    for rate, part in networks.items():
        probability = config.train.carry_state_probability
        least = max(least, least_segment(part, loss.least_samples(rate), probability) / rate)
    if config.mix.segment < least:
        shown = ceil(1000 * least) / 1000
        raise QseError(
            f"mix.segment is {config.mix.segment:g} s, and the losses need {shown:g} s: "
            "make it longer"
        )


def _at(network: Network, rate: int, cure: str) -> Network:
    """Return the network at a rate. QseError with the cure where it does not work at that rate."""
    try:
        return network.at(rate)
    except ValueError as error:
        raise QseError(f"{error}; {cure}") from error


def check_batch(batch: Batch, network: Network, loss: WeightedSum, plan: TrainConfig) -> None:
    """Raise QseError for a batch of one's own source that network or loss cannot work with."""
    if not isinstance(batch, Batch):
        raise QseError(
            f"the source returns {type(batch).__name__}: return qse.data.Batch(noisy, clean, "
            "sample_rate)"
        )
    noisy, clean, rate, _ = batch
    if noisy.ndim != 2 or noisy.shape != clean.shape or not noisy.is_floating_point():
        shapes = f"{tuple(noisy.shape)} and {tuple(clean.shape)}"
        raise QseError(
            f"the source returns noisy and clean of {shapes}: both must be float tensors (size, "
            "samples)"
        )
    try:
        network = network.at(rate)
    except ValueError as error:
        raise QseError(f"the source returns batches at {rate} Hz: {error}") from error
    least = least_segment(network, loss.least_samples(rate), plan.carry_state_probability)
    if noisy.shape[1] < least:
        found = noisy.shape[1]
        raise QseError(
            f"the source returns segments of {found} samples, and the losses need {least}: "
            "make them longer"
        )


def _check_validation(config: RunConfig, job: Job, network: Network) -> None:
    validates = job.valid or (job.data and config.dataset in open_sources.CORPORA)
    if job.unknown and not validates:
        raise UsageError("unknown=DIR needs valid=DIR, pairs of known sources to compare with")
    if validates:
        for package in ("pesq", "pystoi", "matplotlib"):  # used at the first validation
            need(package, "train")
    for folder in filter(None, (job.valid, job.unknown)):
        pairs = find_pairs(folder, network.config.sample_rate)
        rate = rate_of(pairs, network.config.sample_rate)
        _at(network, rate, f"{folder} is not all at the rate of the network: convert it")

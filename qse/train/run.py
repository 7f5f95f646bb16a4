"""Run a training: audio and a configuration in, a folder of checkpoints and curves out.

RUN/config.toml  checkpoint.safetensors  best.safetensors  train.csv  valid.csv  curves.png
RUN/parts.csv    of a run on a bundle
"""

import copy
import logging
import warnings
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from ..audio.claim import held
from ..audio.file_mode import Sources
from ..audio.folder_path import make_folder
from ..data import open_sources
from ..data.bundle_source import Say
from ..data.datasets import Stages
from ..data.multi_rate import WIDE_BAND
from ..data.source import Batch, BatchSource
from ..errors import QseError, UsageError
from ..losses.loss_config import LossConfig
from ..losses.terms import LossTerm
from ..losses.weighted_sum import WeightedSum, as_loss
from ..model_folder import CONFIG, weights_of
from ..networks import Network, weights
from . import bundle_run, checkpoint
from .assembly import trainer_of
from .exchange import copy_from_first_
from .job import Job
from .loop import TrainingLoop
from .mix_processes import mixed_ahead
from .optimizers import assignment, optimizers, undeclared
from .parallel import is_first, launch, own_device, processes_in_all
from .preflight import Start, prepare
from .recipe import Own, RunConfig, model_table, write_config
from .stopping import StopRequest
from .train_config import TrainConfig
from .trainer import Trainer
from .training_log import StepReport, TrainingLog
from .validation import Validator
from .validation_pairs import Utterance, find_pairs, read_pairs


def train(
    config: RunConfig,
    job: Job,
    report: StepReport | None = None,
    progress: Stages | None = None,
    *,
    network: Network | None = None,
    loss: LossConfig | WeightedSum | LossTerm | None = None,
    source: BatchSource | None = None,
    say: Say | None = None,
) -> Network:
    """Train until `steps` or `hours` are over, or a signal asks to stop; a checkpoint holds the
    last step.

    Return the network with the averaged weights of the best validation, or of the last step without
    one, in eval mode. report: called by the first process with a row after every step. progress:
    called while copies of a corpus are made, with (what is copied, files done, all of them).
    network, loss, source: objects in the place of what `config` and `job` name. The network is
    trained in place. A loss is a `LossConfig`, a `WeightedSum`, or a function of clean= and
    enhanced=, (B, N), that returns a scalar. say: told in a line, by the first process, which parts
    of a bundle were taken in or refused, and which weights may lack a declaration, by default by a
    warning. `logging` is told which optimiser trains how much. Raises QseError for what
    `prepare` refuses.
    """
    own = Own(network, loss, source)
    say = say or warnings.warn
    job = replace(job, processes=processes_in_all(job.processes))
    start = prepare(config, job, own)
    if network is not None:
        config = replace(config, model=model_table(network))
    if is_first():
        _tell_optimizers(start.network, config.train, say)
    with _claimed(job.out) if is_first() else ExitStack():
        if source is None:
            _prepare_corpora(config, job, progress, say)
        if not job.resume and is_first():
            file = job.out / CONFIG
            write_config(file, config, start.network, overwrite=False, source=start.sources)
        launch(_work, job.processes, config, job, start, own, report, say)
    return _trained(start.network, job)


def _tell_optimizers(network: Network, plan: TrainConfig, say: Say) -> None:
    """Tell which optimiser trains what, and which weights may lack a declaration."""
    made = optimizers(network, plan.optimizer, plan.betas, plan.weight_decay)
    logging.getLogger(__name__).info(assignment(made))
    for line in undeclared(network, made):
        say(line)


def _claimed(run: Path) -> ExitStack:
    """Claim the folder of a run until the end of the context.

    Raises UsageError while another training writes to it, QseError where nothing can be written.
    """
    cure = "wait for its end, or name another folder"
    taken = UsageError(f"{run}: another training writes to it; {cure}")
    try:
        make_folder(run)
        return held(run / run.name, taken)
    except OSError as error:
        cause = f"cannot write there ({error.strerror})"
        raise QseError(f"{run}: {cause}; name another folder") from error


def _prepare_corpora(config: RunConfig, job: Job, progress: Stages | None, say: Say) -> None:
    """Make copies of recordings before several processes read them."""
    if job.data:
        open_sources.prepare(config.dataset, job.data, config.mix, progress)
    if job.parts:
        bundle_run.prepare(config, job, say if is_first() else lambda line: None)
    elif job.cache:
        assert job.speech and job.noise
        share = config.train.wide_band_share
        open_sources.write_cache(job.speech, job.noise, config.mix, share, job.cache, progress)


def _trained(network: Network, job: Job) -> Network:
    """Return a copy of a network with the averaged weights of a run, or as it is where the run took
    no step."""
    trained = copy.deepcopy(network).cpu().requires_grad_(True)
    path = weights_of(job.out)
    if not path.is_file():
        return trained.eval()
    tensors, _ = weights.load_tensors(path)
    trained.load_state_dict(weights.averaged(tensors))
    return trained.eval()


def _work(
    rank: int,
    processes: int,
    config: RunConfig,
    job: Job,
    start: Start,
    own: Own,
    report: StepReport | None,
    say: Say,
) -> None:
    """Train in one of the processes."""
    device = own_device(job.device, rank)
    _set_up(device, config.train)
    # processes share what they are sent
    network = copy.deepcopy(start.network) if processes > 1 else start.network
    copy_from_first_([*network.parameters(), *network.buffers()])
    source = own.source
    if job.parts:
        source = bundle_run.source(config, job, device, rank, say)
    elif source is None:
        # where other processes mix, this one asks for the number of segments alone
        mixes = torch.device("cpu") if config.train.mix_processes else device
        source = _source(config, job, mixes)
    seconds = source.batch(0, 1).seconds if own.source else config.mix.segment
    plan = config.train.counted(source.segments, seconds, processes)

    def batches(step: int, share: int) -> Batch:
        return source.batch(step, plan.batch, share).to(device)

    closing = ExitStack()
    if plan.mix_ahead:
        ahead = mixed_ahead(batches, partial(_source, config, job, device), plan, device, rank)
        closing.callback(ahead.close)
        batches = ahead
    objective = as_loss(own.loss or config.loss)
    trainer = trainer_of(network, objective, plan, batches, device, rank)
    if job.start:
        trainer.begin(Path(job.start).resolve().name, start.header)
    loop = _loop(trainer, replace(config, train=plan), job, start.sources, report)
    if job.resume:
        with start.sources:
            loop.restore(*checkpoint.load_checkpoint(job.checkpoint, network))
        if rank == 0:  # not before: a failure until here leaves the run as it was
            write_config(job.out / CONFIG, config, network, source=start.sources)
    with closing, bundle_run.arrivals(source, job, rank):
        loop.run()


def _set_up(device: torch.device, plan: TrainConfig) -> None:
    """Set how PyTorch computes in this process."""
    if device.type == "cpu":
        torch.set_num_threads(1)
    if device.type == "cuda":
        torch.cuda.set_device(device)
        # off by default: STFT and GRU need full precision, TF32 has 10 bits of mantissa
        torch.backends.cudnn.allow_tf32 = plan.tf32
        torch.backends.cuda.matmul.allow_tf32 = plan.tf32


def _loop(
    trainer: Trainer, config: RunConfig, job: Job, sources: Sources, report: StepReport | None
) -> TrainingLoop:
    log = TrainingLog(job.out, trainer, WIDE_BAND, report)
    rate = trainer.network.config.sample_rate
    unknown = _read_pairs(job.unknown, rate, log.stage)
    pairs = _pairs(config, job, rate, log.stage)
    validator = Validator(pairs, config.train.valid_every, unknown)
    return TrainingLoop(trainer, validator, log, StopRequest(job.hours), job, sources)


def _source(config: RunConfig, job: Job, device: torch.device) -> BatchSource:
    mix = config.mix
    seed = config.train.seed
    if job.data:
        shares = job.processes * config.train.accumulate
        return open_sources.find_corpus(config.dataset)(job.data, mix, seed, device, shares)
    assert job.speech and job.noise
    share = config.train.wide_band_share
    return open_sources.folders(
        job.speech, job.noise, mix, seed, device, wide_share=share, cache=job.cache
    )


def _pairs(config: RunConfig, job: Job, rate: int, progress: Stages) -> list[Utterance]:
    """Read the pairs to validate with, if there are any."""
    if job.data and not job.valid:
        found = open_sources.validation(config.dataset, job.data, config.mix)
        return read_pairs(found, progress=progress)
    return _read_pairs(job.valid, rate, progress)


def _read_pairs(folder: Path | None, rate: int, progress: Stages) -> list[Utterance]:
    return read_pairs(find_pairs(folder, rate), rate, progress) if folder else []

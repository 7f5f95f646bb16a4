"""Train on the parts of a bundle: those that are there, and those that arrive during the run."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from ..audio.atomic_write import remove
from ..data import open_sources, part_schedule
from ..data.bundle_source import BundleSource, Say, take_in
from ..data.decoded_parts import DecodedParts
from ..data.part_intake import Watcher, first_parts
from ..data.part_schedule import PartSchedule
from ..data.source import BatchSource
from ..errors import QseError
from ..networks import weights
from .checkpoint_header import check_header
from .job import Job
from .parallel import is_first
from .recipe import RunConfig


def prepare(config: RunConfig, job: Job, say: Say) -> None:
    """Take in the first parts, before the processes of a run begin; wait for them where the run
    watches a folder."""
    assert job.parts
    if not job.resume:
        _check_schedule(_schedule(job))
    store = _store(config, job)
    first_parts(job.parts, store, say, bool(job.watch), job.resume)
    if not is_first():
        return
    schedule = _schedule(job)
    if not job.resume:
        remove(schedule.path)  # of a run without a checkpoint
    known = schedule.rows()
    missing = [row.name for row in known if row.identity not in store.found()]
    if missing:
        names = ", ".join(missing)
        say(f"{names} not there, which this run had: its batches differ from those of before")
    if job.resume and not known:
        say(f"{schedule.path} not there: its batches differ from those of before")
    take_in(store, schedule, _step(job.checkpoint) if job.resume else 0)


def _check_schedule(schedule: PartSchedule) -> None:
    """Raise QseError for a file in the place of the schedule that no run has written."""
    try:
        schedule.rows()
    except QseError as error:
        raise QseError(
            f"{schedule.path}: would be replaced; name another folder, or delete it"
        ) from error


def _step(path: Path) -> int:
    """Return the step of a checkpoint. Raises QseError for one that is damaged."""
    header = weights.load_header(path)
    check_header(path, header)
    return int(header["step"])


def source(config: RunConfig, job: Job, device: torch.device, rank: int, say: Say) -> BundleSource:
    """Return the source of a process of a run."""
    plan = config.train
    return BundleSource(
        _store(config, job),
        _schedule(job),
        open_sources.mixing(config.mix, plan.seed, device, plan.wide_band_share),
        device,
        say,
        arrivals=list if rank == 0 else None,
        margin=2 + plan.mix_ahead if job.processes > 1 else 0,
    )


@contextmanager
def arrivals(source: BatchSource, job: Job, rank: int) -> Iterator[None]:
    """Take in the parts that arrive, in another process, until the end of the context."""
    if not isinstance(source, BundleSource) or not job.watch or rank:
        yield
        return
    watcher = Watcher(job.watch, source.store)
    source.arrivals = watcher.lines
    try:
        yield
    finally:
        watcher.close()


def _store(config: RunConfig, job: Job) -> DecodedParts:
    folder = job.cache or job.out
    return open_sources.decoded_parts(folder, config.mix, config.train.wide_band_share)


def _schedule(job: Job) -> PartSchedule:
    return PartSchedule(Path(job.out) / part_schedule.NAME)

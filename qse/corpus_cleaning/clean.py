"""Enhance the recordings of a manifest that are not finished, several at a time with one model."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace

from ..audio.folder_path import open_found
from ..errors import QseError, UsageError
from ..runtime.bands import BandModels
from ..runtime.batch import Cancelled, Outcome, run
from ..runtime.batch_options import Options
from ..runtime.batch_plan import FileJob
from .journal import Journal
from .manifest import Recording


def clean(
    recordings: list[Recording],
    models: BandModels,
    journal: Journal,
    threads: int = 1,
    cancelled: Callable[[], bool] = lambda: False,
) -> Iterator[Outcome]:
    """Enhance `recordings`, `threads` at a time, with the settings of `journal`, which records each
    as it ends.

    Yield the outcomes in the order in which the recordings end. When `cancelled` returns true,
    unfinished files are given up; they are neither recorded nor yielded.
    """
    model_pool = ThreadPoolExecutor(threads)  # for the channels and grids of all recordings
    shared = model_pool if threads > 1 else None
    options = Options(strength=journal.settings.strength, pool=shared)
    stopped = False
    new = {recording.target for recording in recordings if not recording.target.exists()}

    def do(recording: Recording) -> Outcome:
        target = recording.target
        job = FileJob(recording.source, target, is_new=target in new)
        used = replace(options, overwrite=journal.begin(recording))
        return next(run([job], models.at, used, cancelled=lambda: stopped or cancelled()))

    with model_pool, ThreadPoolExecutor(threads) as pool:
        futures = {pool.submit(do, recording): recording for recording in recordings}
        try:
            for future in as_completed(list(futures)):
                recording = futures.pop(future)
                outcome = future.result()
                if isinstance(outcome.error, Cancelled):
                    continue
                _record(journal, recording, outcome)
                yield outcome
        finally:
            stopped = True


def check_free(recordings: list[Recording]) -> None:
    """Raise UsageError if the file of one of the `recordings` exists already."""
    taken = [recording.target for recording in recordings if recording.target.exists()]
    if taken:
        others = f" and {len(taken) - 1} more" if len(taken) > 1 else ""
        raise UsageError(
            f"{taken[0]}{others} exist already: name another folder, or use overwrite=True"
        )


def shard(recordings: list[Recording], text: str | None) -> tuple[list[Recording], int, int]:
    """Return the recordings of the shard that `text` ("I/N", I from 1 to N) names, I and N; without
    it, all, 1 and 1.

    Raises UsageError for another text.
    """
    number, _, of = (text or "1/1").partition("/")
    if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise UsageError(f"shard={text}: write I/N, with I from 1 to N, as in 2/8")
    return recordings[int(number) - 1 :: int(of)], int(number), int(of)


def _record(journal: Journal, recording: Recording, outcome: Outcome) -> None:
    if outcome.error:
        journal.add(recording, error=str(outcome.error))
        return
    try:
        with open(recording.target, "rb", opener=open_found) as file:
            os.fsync(file.fileno())  # the samples are on the disk before the line that says so
    except OSError as error:
        raise QseError(f"{recording.target} was exchanged, or lost: {error.strerror}") from error
    try:
        journal.add(recording, seconds=outcome.seconds, damage=outcome.damage)
    except OSError as error:
        cure = "make room, and run it again"
        raise QseError(f"{journal.path} cannot be written: {error.strerror}; {cure}") from error

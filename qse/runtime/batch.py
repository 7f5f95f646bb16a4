"""Enhance many files, several at once with one model.

A file that fails is reported and leaves no partial output; the others are still processed.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import TypeVar

from ..audio.content import inspected
from ..audio.ffmpeg_process import ended_when
from ..audio.input_path import held_input
from ..audio.reader import AudioReader, open_audio
from ..errors import QseError
from .batch_options import Options
from .batch_plan import FileJob
from .denoise import enhance
from .file_output import write_file
from .part import noisy_part, without_lead
from .zoo import Model

Item = TypeVar("Item")


class Cancelled(QseError):
    """A job was abandoned because the run was cancelled."""


DEFAULTS = Options()


@dataclass(frozen=True)
class Outcome:
    """The result of a job: `seconds` of sound that were written, and what was damaged in the
    source; or an error.

    `sample_rate` and `channels` are those of the file, or of its first track, `bandwidth` is the
    highest frequency of the model, in Hz. `tracks`: sound tracks that were enhanced; `warnings`:
    sentences about what differs from the source; `lost`: names of its metadata that the result does
    not hold.
    """

    job: FileJob
    seconds: float = 0.0
    sample_rate: int = 0
    channels: int = 0
    bandwidth: float = 0.0
    damage: str | None = None
    tracks: int = 1
    warnings: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    error: QseError | None = None


def sound_seconds(path: Path) -> float:
    """Return the duration of a file in seconds according to its header; 0 if the header does not
    give it, or the file is refused."""
    try:
        with held_input(path, str(path)) as held:
            found = inspected(held, str(path))
            if not found.needs_ffmpeg:
                with open_audio(held, str(path)) as source:
                    if source.samples is not None:
                        return source.samples / source.layout.sample_rate
                    found = source.inspection
            media = found.media
    except QseError:
        return 0.0
    return media.seconds * max(1, len(media.tracks)) if media else 0.0


def enhance_file(
    job: FileJob,
    model_at: Callable[[float], Model],
    options: Options,
    progress: Callable[[float], object] = lambda seconds: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Enhance one file. Raises QseError if reading, model or writing fails, Cancelled once
    `cancelled` returns true.

    `model_at` is called with the sample rate of the file, in Hz, and returns the model for it.
    `progress` is called with the seconds of sound of each block that was read.
    """
    name = str(job)
    if job.is_new and options.overwrite:
        if job.target.exists():
            cause = "perhaps for a file whose name differs in case alone"
            cure = f"write the result of {name} to another folder"
            raise QseError(f"{job.target} was made meanwhile, {cause}: {cure}")
        options = replace(options, overwrite=False)
    with (
        held_input(job.source, name, job.inside) as path,
        open_audio(path, name, options.salvage, options.track or 1) as source,
    ):
        source.inspection.named = job.source
        model = model_at(source.layout.sample_rate)

        def enhanced(reader: AudioReader) -> Iterator:
            rate = reader.layout.sample_rate
            used = model if reader is source else model_at(rate)
            pool = options.pool if used.streams else None  # offline: gigabytes for a channel
            part = options.part
            stop = part.end(rate) if part else math.inf
            noisy = _until(cancelled, _counted(reader.blocks(stop), rate, progress))
            if part:
                noisy = noisy_part(noisy, rate, part, str(job))
            blocks: Iterator = noisy
            if not options.is_trial:
                blocks = enhance(
                    noisy, rate, used, options.strength, pool, options.split, options.link
                )
            if part:
                blocks = without_lead(blocks, round(part.start * rate) - part.first(rate))
            return _until(cancelled, blocks)

        held = replace(job, source=path, name=name)
        written = write_file(held, source, enhanced, options)
        rate = source.layout.sample_rate
        damage = "; ".join(text for text in (source.damage, *written.damage) if text)
        return Outcome(
            job=job,
            seconds=written.samples / rate,
            sample_rate=rate,
            channels=source.layout.channels,
            bandwidth=model.sample_rate / 2,
            damage=damage or None,
            tracks=written.tracks,
            warnings=tuple(written.warnings),
            lost=tuple(written.lost),
        )


def run(
    jobs: list[FileJob],
    model_at: Callable[[float], Model],
    options: Options = DEFAULTS,
    threads: int = 1,
    progress: Callable[[float], object] = lambda seconds: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Iterator[Outcome]:
    """Run the jobs, `threads` at a time, and yield their outcomes in order; `model_at` as in
    `enhance_file`.

    All cores work on the channels and grids of these files, also where there are fewer files than
    threads.

    When `cancelled` returns true, the caller stops iterating, or is interrupted, the unfinished
    files are abandoned and their temporary files removed. This returns only when no thread runs the
    model any more: if the interpreter ended before, it would abort the process.
    """
    stop = Event()
    pool = ThreadPoolExecutor(threads)
    model_pool = ThreadPoolExecutor(threads)
    if threads > 1:
        options = replace(options, pool=model_pool)

    def given_up() -> bool:
        return stop.is_set() or cancelled()

    def do(job: FileJob) -> Outcome:
        try:
            if given_up():
                raise Cancelled(f"{job} was not started")
            with ended_when(given_up):
                return enhance_file(job, model_at, options, progress, given_up)
        except QseError as error:
            if given_up():  # then ffmpeg was ended too
                return Outcome(job, error=Cancelled(f"{job} was interrupted"))
            # a traceback would keep the file open until the end
            return Outcome(job, error=error.with_traceback(None))
        except OSError as error:
            return Outcome(job, error=QseError(f"{job}: {error}"))
        except Exception as error:
            if not isinstance(error, MemoryError) and not type(error).__module__.startswith(
                "onnxruntime"
            ):
                raise
            reason = str(error).partition("\n")[0] or type(error).__name__
            cure = "is there enough memory? Try threads=1"
            return Outcome(job, error=QseError(f"{job} could not be enhanced: {reason}; {cure}"))

    try:
        for future in [pool.submit(do, job) for job in jobs]:
            yield future.result()
    finally:
        stop.set()
        _join(pool, model_pool)


def _join(*pools: ThreadPoolExecutor) -> None:
    """Wait for all threads of the pools, also when signals come; then raise the exception of the
    signal."""
    interruption: BaseException | None = None
    while True:
        try:
            for pool in pools:
                pool.shutdown()  # jobs that have not begun end at once, as `stop` is set
            break
        except (KeyboardInterrupt, SystemExit) as error:
            interruption = error  # a further signal: the threads still run the model
    if interruption:
        raise interruption


def _counted(blocks: Iterable, sample_rate: int, progress: Callable[[float], object]) -> Iterator:
    for block in blocks:
        progress(len(block) / sample_rate)
        yield block


def _until(cancelled: Callable[[], bool], items: Iterable[Item]) -> Iterator[Item]:
    """Yield the items.

    Raises Cancelled if `cancelled` returns true before one of them or after the last.
    """
    for item in items:
        if cancelled():
            raise Cancelled("interrupted")
        yield item
    if cancelled():
        raise Cancelled("interrupted")

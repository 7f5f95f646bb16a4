"""Enhance many files, several at once with one model.

A file that fails is reported and leaves no partial output; the others are still processed.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import TypeVar

from ..audio.ffmpeg import duration, write_video
from ..audio.formats import FOREIGN, Layout, suffix_of
from ..audio.reader import AudioReader, open_audio
from ..audio.writer import atomic_target, write
from ..errors import QseError
from .batch_plan import Job
from .denoise import enhance
from .model import Model

Item = TypeVar("Item")


class Cancelled(QseError):
    """A job was abandoned because the run was cancelled."""


@dataclass(frozen=True)
class Options:
    """Options of a batch. `strength`: attenuation limit in dB; `salvage`: read damaged files as far as they go;
    `channel_threads`: channels of a file that are enhanced at the same time."""

    strength: float | None = None
    overwrite: bool = False
    salvage: bool = False
    channel_threads: int = 1


DEFAULTS = Options()


@dataclass(frozen=True)
class Outcome:
    """The result of a job: `seconds` of sound that were written, and what was damaged in the source; or an error.

    `sample_rate` and `channels` are those of the file, `bandwidth` is the highest frequency of the model, in Hz.
    """

    job: Job
    seconds: float = 0.0
    sample_rate: int = 0
    channels: int = 0
    bandwidth: float = 0.0
    damage: str | None = None
    error: QseError | None = None


def sound_seconds(path: Path) -> float:
    """Return the duration of a file in seconds according to its header; 0 if the header does not give it."""
    if suffix_of(path) in FOREIGN:
        return duration(path)
    try:
        with open_audio(path) as source:
            return (source.samples or 0) / source.layout.sample_rate
    except QseError:
        return 0.0


def enhance_file(
    job: Job,
    model_at: Callable[[float], Model],
    options: Options,
    progress: Callable[[float], object] = lambda seconds: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Enhance one file. Raises QseError if reading, model or writing fails, Cancelled once `cancelled` returns true.

    `model_at` is called with the sample rate of the file, in Hz, and returns the model for it.
    `progress` is called with the seconds of sound of each block that was read.
    """
    with open_audio(job.source, job.name, options.salvage) as source:
        rate = source.layout.sample_rate
        model = model_at(rate)
        noisy = _counted(source.blocks(), rate, progress)
        threads = options.channel_threads if model.streams else 1  # an offline model takes gigabytes for a channel
        enhanced = _until(cancelled, enhance(_until(cancelled, noisy), rate, model, options.strength, threads))
        to_file = _write_video if job.is_video else _write_audio
        samples = to_file(job, source, enhanced, options.overwrite)
        return Outcome(job, samples / rate, rate, source.layout.channels, model.sample_rate / 2, source.damage)


def run(
    jobs: list[Job],
    model_at: Callable[[float], Model],
    options: Options = DEFAULTS,
    threads: int = 1,
    progress: Callable[[float], object] = lambda seconds: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Iterator[Outcome]:
    """Run the jobs, `threads` at a time, and yield their outcomes in order; `model_at` as in `enhance_file`.

    Threads that have no file of their own process the channels of the files.

    When `cancelled` returns true, the caller stops iterating, or is interrupted, the unfinished files are abandoned and
    their temporary files removed. This returns only when no thread runs the model any more: if the interpreter ended
    before, it would abort the process.
    """
    stop = Event()
    spare_threads = threads // max(1, len(jobs))
    options = replace(options, channel_threads=max(options.channel_threads, spare_threads))

    def given_up() -> bool:
        return stop.is_set() or cancelled()

    def do(job: Job) -> Outcome:
        try:
            if given_up():
                raise Cancelled(f"{job} was not started")
            return enhance_file(job, model_at, options, progress, given_up)
        except QseError as error:
            return Outcome(job, error=error.with_traceback(None))  # a traceback would keep the file open until the end
        except OSError as error:
            return Outcome(job, error=QseError(f"{job}: {error}"))
        except Exception as error:
            if not isinstance(error, MemoryError) and not type(error).__module__.startswith("onnxruntime"):
                raise
            reason = str(error).partition("\n")[0] or type(error).__name__
            cure = "is there enough memory? Try --threads 1"
            return Outcome(job, error=QseError(f"{job} could not be enhanced: {reason}; {cure}"))

    pool = ThreadPoolExecutor(threads)
    try:
        for future in [pool.submit(do, job) for job in jobs]:
            yield future.result()
    finally:
        stop.set()
        _join(pool)


def _join(pool: ThreadPoolExecutor) -> None:
    """Wait for all threads of the pool, also when signals come; then raise the exception of the signal."""
    interruption: BaseException | None = None
    while True:
        try:
            pool.shutdown(wait=True, cancel_futures=True)
            break
        except (KeyboardInterrupt, SystemExit) as error:  # a further signal: the threads still run the model
            interruption = error
    if interruption:
        raise interruption


def _write_audio(job: Job, source: AudioReader, blocks: Iterable, overwrite: bool) -> int:
    layout = source.layout.to(job.target, job.source)
    if (source.samples or 0) > layout.longest:
        raise QseError(f"{job} is too long for a {layout.format} file: name an output that ends in .rf64")
    return write(job.target, blocks, layout, overwrite)


def _write_video(job: Job, source: AudioReader, blocks: Iterable, overwrite: bool) -> int:
    layout = Layout(source.layout.sample_rate, source.layout.channels, "W64", "FLOAT", "FILE", {})
    with atomic_target(job.target, overwrite) as part, TemporaryDirectory(prefix="qse-") as folder:
        sound = Path(folder) / "sound.w64"
        samples = write(sound, blocks, layout)
        write_video(job.source, sound, part, job.target)
        return samples


def _counted(blocks: Iterable, sample_rate: int, progress: Callable[[float], object]) -> Iterator:
    for block in blocks:
        progress(len(block) / sample_rate)
        yield block


def _until(cancelled: Callable[[], bool], items: Iterable[Item]) -> Iterator[Item]:
    """Yield the items. Raises Cancelled if `cancelled` returns true before one of them or after the last."""
    for item in items:
        if cancelled():
            raise Cancelled("interrupted")
        yield item
    if cancelled():
        raise Cancelled("interrupted")

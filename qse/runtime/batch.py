"""Many files: which ones, where to, and several at once with one engine between them.

A job that fails says so and leaves nothing behind; the others are done all the same.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from glob import glob
from math import inf
from os.path import abspath, realpath
from pathlib import Path
from threading import Event

from ..audio.formats import FOREIGN, FORMATS, audio_below, format_of
from ..audio.reader import Source
from ..audio.writer import write
from ..errors import QseError, UsageError
from .offline import Model
from .stream import enhance

SUFFIX = "-enhanced"


@dataclass(frozen=True)
class Job:
    """One file to enhance; `name` is what messages call it, its path if None."""

    source: Path
    target: Path
    name: str | None = None

    def __str__(self) -> str:
        return self.name or str(self.source)

    def seconds(self) -> float:
        """How long the sound lasts; 0 if it cannot be told."""
        try:
            with Source(self.source) as source:
                return (source.samples or 0) / source.layout.sample_rate
        except QseError:
            return 0.0

    def do(
        self,
        engine: Model,
        strength: float | None = None,
        overwrite: bool = False,
        progress: Callable[[float], None] = lambda seconds: None,
    ) -> float:
        """Enhance the file and return its length in seconds; `progress` hears of every block as it is read.

        It is also called, with 0, for every block before it is written and after the last one: what it raises ends all.
        """
        with Source(self.source, self.name) as source:
            rate = source.layout.sample_rate
            layout = source.layout.to(self.target, self.source)
            if (source.samples or 0) > layout.longest:
                raise QseError(f"{self} is too long for a {layout.format} file: name an output that ends in .rf64")
            blocks = enhance(_tell(source.blocks(), rate, progress), rate, engine, strength)
            return write(self.target, _tell(blocks, inf, progress), layout, overwrite) / rate


def plan(inputs: list[str], output: str | None = None) -> tuple[list[Job], list[QseError]]:
    """Jobs for `inputs` (files, folders with all below them, glob patterns), and what is wrong with the others.

    Without `output`, a file's target is `<stem>-enhanced<suffix>` beside it. With one input file, `output` may name a
    file; otherwise it is a folder, in which the tree below an input folder appears again. Results of an earlier run
    that lie among the inputs are passed over, as is all that lies in an output folder below an input folder, unless it
    is named itself. Raises UsageError if `output` is a file and the inputs are several, or if one of them is empty, as
    a shell's variable that is not set: it would mean all that is here.
    """
    if "" in (*inputs, output):
        raise UsageError("an input or output without a name: is a variable empty? For this folder write .")
    found: dict[str, tuple[Path, Path]] = {}  # file -> its name, the folder that its place in the tree counts from
    errors: list[QseError] = []
    for text in inputs:
        try:
            for path, root in _find(text, errors.append).items():
                real = realpath(path)
                if real not in found or found[real][0].is_symlink():
                    found[real] = path, root
        except QseError as error:
            errors.append(error)
        except OSError as error:
            errors.append(QseError(f"{text} cannot be read: {error.strerror}"))
    if not found:
        return [], errors
    lone = len(inputs) == len(found) == 1 and not Path(inputs[0]).is_dir()
    folder = _folder(output, lone) if output else None
    earlier = {abspath(_enhanced(path)) for path, _ in found.values()}
    if folder:
        place = Path(realpath(folder))
        if any(Path(realpath(root)) in place.parents for root in {root for _, root in found.values()}):
            earlier |= {abspath(path) for real, (path, _) in found.items() if place in Path(real).parents}
        earlier -= {abspath(text) for text in inputs}  # nothing is in the way of those
    jobs: dict[str, Job] = {}
    for path, root in found.values():
        if abspath(path) in earlier:
            continue
        target = folder / path.relative_to(root) if folder else Path(output) if output else _enhanced(path)
        first = jobs.setdefault(realpath(target), Job(path, target))
        if first.source != path:
            errors.append(QseError(f"{path} would be written to {target}, as {first} is: enhance it by itself"))
    if not jobs and not errors:
        errors.append(QseError(f"{', '.join(inputs)}: nothing to do, for all there is comes from an earlier run"))
    return list(jobs.values()), errors


def run(
    jobs: list[Job],
    engine: Model,
    strength: float | None = None,
    overwrite: bool = False,
    threads: int = 1,
    progress: Callable[[float], None] = lambda seconds: None,
) -> Iterator[tuple[Job, float | QseError]]:
    """Do the jobs, `threads` of them at a time: yields each, in order, with its seconds of sound or what went wrong.

    When the caller stops asking, or is interrupted, the files that are not finished are given up without a trace.
    """
    stop = Event()

    def tick(seconds: float) -> None:
        if stop.is_set():
            raise QseError("interrupted")
        progress(seconds)

    def do(job: Job) -> float | QseError:
        try:
            return job.do(engine, strength, overwrite, tick)
        except QseError as error:
            return error.with_traceback(None)  # which would keep the file open until all are done
        except OSError as error:
            return QseError(f"{job}: {error}")
        except Exception as error:
            if not isinstance(error, MemoryError) and not type(error).__module__.startswith("onnxruntime"):
                raise
            reason = str(error).partition("\n")[0] or type(error).__name__
            return QseError(f"{job} could not be enhanced: {reason}; is there enough memory? Try --threads 1")

    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(do, job) for job in jobs]
        try:
            for job, future in zip(jobs, futures, strict=True):
                yield job, future.result()
        finally:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _tell(blocks: Iterator, sample_rate: float, progress: Callable[[float], None]) -> Iterator:
    for block in blocks:
        progress(len(block) / sample_rate)
        yield block
    progress(0.0)


def _find(text: str, refuse: Callable[[QseError], object]) -> dict[Path, Path]:
    path = Path(text)
    if path.exists() or not any(sign in text for sign in "*?["):
        found = _below(path, refuse)
        if not found:
            raise QseError(f"{text} holds no audio file (known by their suffix: {', '.join(FORMATS)})")
        return found
    found = {}
    for match in sorted(glob(text, recursive=True)):
        found |= _below(Path(match), refuse)
    if not found:
        raise QseError(f"{text}: no file matches this pattern")
    return found


def _below(path: Path, refuse: Callable[[QseError], object]) -> dict[Path, Path]:
    """The audio files in a folder and below it, those that can only be refused among them; a file, whatever it is."""
    if path.is_dir():
        return dict.fromkeys(audio_below(path, refuse, (*FORMATS, *FOREIGN)), path)
    return {path: path.parent}


def _enhanced(path: Path) -> Path:
    return path.with_stem(path.stem + SUFFIX)


def _folder(output: str, lone: bool) -> Path | None:
    """The folder that `output` means, None if it means a file."""
    path = Path(output)
    is_folder = path.is_dir() or output.endswith(("/", os.sep)) or not path.suffix
    if not is_folder and not lone and (path.exists() or format_of(path)):
        raise UsageError(f"-o {output}: several inputs need a folder to go to, not one file")
    return None if lone and not is_folder else path

"""Enhance one file, as `qse denoise` does."""

import warnings
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import Any, TypedDict, Unpack, overload

from ..audio.private_folder import private_folder
from ..errors import QseError
from ..machine import cores
from .batch import run
from .batch_options import Options
from .batch_plan import FileJob, plan
from .memory_file import Held, held_job, is_held
from .zoo import RECORDING_MODEL, Model, resolve

Name = str | PathLike[str]
ModelName = str | Path | Model


class Settings(TypedDict, total=False):
    """Keyword arguments of `denoise_file`."""

    strength: float | None
    overwrite: bool
    salvage: bool
    fast: bool
    threads: int | None
    link: bool
    loudness: float | None


@overload
def denoise_file(
    path: Name, target: Name | None = None, model: ModelName = ..., **settings: Unpack[Settings]
) -> Path: ...


@overload
def denoise_file(
    path: Held, target: None = None, model: ModelName = ..., **settings: Unpack[Settings]
) -> bytes: ...


@overload
def denoise_file(
    path: Held, target: Name, model: ModelName = ..., **settings: Unpack[Settings]
) -> Path: ...


def denoise_file(
    path: Name | Held,
    target: Name | None = None,
    model: ModelName = RECORDING_MODEL,
    **settings: Unpack[Settings],
) -> Path | bytes:
    """Enhance the audio file or video at `path`, write the result to a file, and return its path.

    `path`: also the contents of a file as bytes, or a binary file object, which is read to its end;
    without a `target` the contents of the result are returned then, as bytes. They pass through a
    temporary file.
    `target`: a file, whose suffix selects the format, or a folder; a name without a suffix is a
    folder. None: `<stem>-enhanced<suffix>` beside `path`. Length, sample rate, channels and tags
    are those of the source. `model` as in `denoise`; the graph that fits the file's sample rate is
    used. `settings`: `strength`, `fast`, `threads` and `link` as in `denoise`; `overwrite`: replace
    a target that exists; `salvage`: enhance what is there of a damaged or cut recording;
    `loudness`: of the result, in LUFS (ffmpeg measures it). Memory does not grow with the length of
    the file. Warnings (`warnings`) name samples that are missing in the file, metadata that the
    result does not hold, samples beyond full scale, and a loudness that is not reached.

    Raises QseError for an unknown model, for a file that is missing, damaged or of an unknown
    format, for a target that exists unless `overwrite`, and where it cannot be written; TypeError
    for arguments of other types. Nothing is left behind.
    """
    if not isinstance(target, str | PathLike | None):
        raise TypeError(f"target must be the path of a file, not {type(target).__name__}")
    unknown = settings.keys() - Settings.__annotations__
    if unknown:
        known = ", ".join(Settings.__annotations__)
        raise TypeError(f"denoise_file takes no {min(unknown)}, but {known}")
    used: dict[str, Any] = dict(settings)
    threads = used.pop("threads", 1)
    fast = used.pop("fast", False)
    with ExitStack() as stack:
        if is_held(path):
            folder = stack.enter_context(private_folder())
            job = held_job(path, target, folder)  # type: ignore[arg-type]
        else:
            job = _job(path, target)
        loaded = resolve(model, fast=fast)
        options = Options(**used)
        count = cores() if threads is None else threads
        jobs = [job]
        for outcome in run(jobs, lambda rate: resolve(loaded, rate), options, count):
            if outcome.error:
                raise outcome.error
            for text in (outcome.damage, *outcome.warnings):
                if text:
                    warnings.warn(text, stacklevel=2)
        return job.target.read_bytes() if is_held(path) and target is None else job.target


def _job(path: object, target: Name | None) -> FileJob:
    if not isinstance(path, str | PathLike):
        kind = type(path).__name__
        raise TypeError(
            f"path must be a path, the contents of a file as bytes, or a binary file object, not "
            f"{kind}; for arrays there is qse.denoise"
        )
    if not Path(path).is_file():
        raise QseError(f"{path} is no file: name an audio file or a video")
    jobs, errors = plan([str(path)], None if target is None else str(target))
    if errors:
        raise errors[0]
    return jobs[0]

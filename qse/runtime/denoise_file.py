"""Enhance one file, as `qse denoise` does."""

import warnings
from pathlib import Path

from ..errors import QseError
from .batch import Options, run
from .batch_plan import plan
from .zoo import RECORDING_MODEL, Model, resolve


def denoise_file(
    path: str | Path,
    target: str | Path | None = None,
    model: str | Path | Model = RECORDING_MODEL,
    strength: float | None = None,
    overwrite: bool = False,
    salvage: bool = False,
    fast: bool = False,
) -> Path:
    """Enhance the audio file or video at `path`, write the result to a file, and return its path.

    `target`: a file, whose suffix selects the format, or a folder; a name without a suffix is a
    folder. None: `<stem>-enhanced<suffix>` beside `path`. Length, sample rate, channels and tags
    are those of the source. `model`, `strength` and `fast` as in `denoise`; the graph that fits
    the file's sample rate is used. `salvage`: enhance what is there of a damaged or cut recording.
    Memory does not grow with the length of the file. Samples that are missing in the file are named
    in a warning (`warnings`).

    Raises QseError for an unknown model, for a file that is missing, damaged or of an unknown
    format, for a target that exists unless `overwrite`, and where it cannot be written. Nothing is
    left behind.
    """
    if not Path(path).is_file():
        raise QseError(f"{path} is no file: name an audio file or a video")
    jobs, errors = plan([str(path)], None if target is None else str(target))
    if errors:
        raise errors[0]

    loaded = resolve(model, fast=fast)
    options = Options(strength, overwrite, salvage)
    for outcome in run(jobs, lambda sample_rate: resolve(loaded, sample_rate), options):
        if outcome.error:
            raise outcome.error
        if outcome.damage:
            warnings.warn(outcome.damage, stacklevel=2)
    return jobs[0].target

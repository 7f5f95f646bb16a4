"""Options of a batch of files."""

from concurrent.futures import Executor
from dataclasses import dataclass

from .file_output import FileOptions


@dataclass(frozen=True, kw_only=True)
class Options(FileOptions):
    """Options of a batch: those of its files, and how they are enhanced.

    `strength`: attenuation limit in dB; `pool`: threads for the channels and grids of the files;
    `split`: seconds of the pieces of a channel; `link`: give the channels of a file one mask.
    """

    strength: float | None = None
    pool: Executor | None = None
    split: float | None = None
    link: bool = False

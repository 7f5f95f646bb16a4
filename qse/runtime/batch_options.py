"""Options of a batch of files."""

from concurrent.futures import Executor
from dataclasses import dataclass

from .file_output import FileOptions
from .part import Part


@dataclass(frozen=True)
class Options:
    """Options of a batch. `strength`: attenuation limit in dB; `salvage`: read damaged files as far
    as they go; `pool`: threads for the channels and grids of the files; `split`: seconds of the
    pieces of a channel; `part`: what is enhanced of each file, None: all; `link`: give the channels
    of a file one mask; `is_trial`: write the noisy sound to a temporary file in place of the
    target, to know what is lost; the others as in FileOptions."""

    strength: float | None = None
    overwrite: bool = False
    salvage: bool = False
    pool: Executor | None = None
    split: float | None = None
    bit_rate: float | None = None
    keep_times: bool = False
    track: int | None = None
    part: Part | None = None
    link: bool = False
    loudness: float | None = None
    is_trial: bool = False

    @property
    def of_files(self) -> FileOptions:
        """Return the options of writing."""
        return FileOptions(
            self.overwrite,
            self.salvage,
            self.bit_rate,
            self.keep_times,
            self.track,
            is_part=self.part is not None,
            loudness=None if self.is_trial else self.loudness,
            is_trial=self.is_trial,
        )

"""Read and write recordings by the rules of qse: through no link of another user, in no file of
theirs, and no more readable than what they are made of."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import soundfile
import soxr

from qse.audio.atomic_write import atomic_path, write_text
from qse.audio.file_mode import Source, Sources
from qse.audio.folder_path import make_folder, open_source
from qse.audio.replaced_folder import new_folder
from qse.audio.writer import write_samples


def read(path: Path, rate: int) -> np.ndarray:
    """Return the first channel (samples,), converted to `rate` in Hz; the file counts among the
    `Sources`."""
    with open(path, "rb", opener=open_source) as file:
        audio, own_rate = soundfile.read(file, dtype="float64", always_2d=True)
    return soxr.resample(audio[:, 0], own_rate, rate, quality="VHQ")


def write(path: Path, audio: np.ndarray, rate: int, source: Source | None) -> None:
    """Write (samples,) as FLAC of 16 bits; source: as of `atomic_path`."""
    with atomic_path(path, source=source) as part:
        write_samples(part, audio, rate, format="FLAC", subtype="PCM_16")


@contextmanager
def new_pairs(folder: Path, sources: Sources) -> Iterator["Pairs"]:
    """Yield what writes pairs made of `sources`, from here on, into `folder`, which appears when
    all are written. End the program where it holds files."""
    if folder.exists() and any(folder.iterdir()):
        raise SystemExit(f"{folder} is not empty: name a new folder")
    with sources, new_folder(folder) as made:
        yield Pairs(made, sources)


class Pairs:
    """A folder of pairs: SIDE/NAME.flac and groups.tsv."""

    def __init__(self, folder: Path, sources: Sources) -> None:
        self._folder = folder
        self._sources = sources

    def at(self, name: str) -> "Pairs":
        """Return the pairs in a folder of this one."""
        return Pairs(self._folder / name, self._sources)

    def add(self, name: str, sides: Mapping[str, np.ndarray], rate: int) -> None:
        """Write a pair: {side, as noisy: (samples,)}."""
        for side, audio in sides.items():
            make_folder(self._folder / side)
            write(self._folder / side / f"{name}.flac", audio, rate, self._sources)

    def tell(self, lines: list[str]) -> None:
        """Write groups.tsv: its head, and a line of each pair."""
        table = self._folder / "groups.tsv"
        write_text(table, "\n".join(lines) + "\n", source=self._sources)

"""Define a system under test, and those that compute nothing: noisy signal, folder of files."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from ..data.datasets import Pair, by_mark, by_name, named_alike
from ..errors import QseError
from .reading import rates_of, read_rate
from .signals import SAMPLE_RATE

Enhanced = tuple[np.ndarray, float | None]  # (samples,), seconds of computation or None
Enhancer = Callable[[Pair, np.ndarray], Enhanced]  # of a pair, and of its noisy audio (samples,)


@dataclass(frozen=True)
class System(ABC):
    """A system under test: its heading in tables, path, and the threads it computes with."""

    name: str
    path: Path = Path()
    threads: int = 1

    baseline: ClassVar[bool] = False  # it is the noisy signal itself
    computes: ClassVar[bool] = False  # it enhances now: it has a speed, and can have a lead-in

    def fingerprint(self) -> str:
        """Return the SHA-256 of the model's file; "" for a system without one."""
        return ""

    def training(self) -> dict[str, str]:
        """Return the training step of a checkpoint's weights as {"step": ...}; nothing for other
        systems."""
        return {}

    def outputs(self) -> dict[str, Path]:
        """Return {utterance: file} of what the system has made already."""
        return {}

    def files_for(self, name: str) -> list[Path]:
        """Return the files beside the pair of which the output for an utterance is made."""
        return []

    def rate_for(self, sample_rate: int) -> int:
        """Return the rate in Hz of the system's output for audio of this rate."""
        return sample_rate

    def prepared(self, pairs: list[Pair]) -> "System":
        """Return the system for these utterances."""
        return self

    def at(self, sample_rate: int) -> "System":
        """Return the system that is used for audio of this rate."""
        return self

    @abstractmethod
    def open(self, sample_rate: int) -> Enhancer:
        """Return the function that enhances audio of this rate.

        QseError if the system cannot be opened.
        """


class NoisySystem(System):
    baseline = True

    def open(self, sample_rate: int) -> Enhancer:
        return lambda pair, noisy: (noisy, None)


@dataclass(frozen=True)
class FolderSystem(System):
    """The output of any other system. files: {utterance: file}, found by `prepared`."""

    files: dict[str, Path] = field(default_factory=dict)

    def prepared(self, pairs: list[Pair]) -> "FolderSystem":
        names = [pair.name for pair in pairs]
        return replace(self, files=matched(by_name(self.path), names))

    def outputs(self) -> dict[str, Path]:
        return self.files

    def files_for(self, name: str) -> list[Path]:
        return [self.files[name]] if name in self.files else []

    def rate_for(self, sample_rate: int) -> int:
        """Return the rate of the files, 16 kHz if they differ, or `sample_rate` if that is
        lower."""
        rates = rates_of(self.files.values())
        own = rates.pop() if len(rates) == 1 else SAMPLE_RATE
        return min(own, sample_rate)

    def open(self, sample_rate: int) -> Enhancer:
        def enhance(pair: Pair, noisy: np.ndarray) -> Enhanced:
            return read_rate(file_of(pair, self.files, self.path), sample_rate), None

        return enhance


def file_of(pair: Pair, files: dict[str, Path], folder: Path) -> Path:
    """Return the file of an utterance, of those found in `folder`. Raises QseError without one."""
    if pair.name not in files:
        raise QseError(f"{folder} has no file called {pair.name}")
    return files[pair.name]


def matched(files: dict[str, Path], names: list[str]) -> dict[str, Path]:
    """Return {utterance: file}: by its name, its mark, its name without sub-folders, or by its
    name and a suffix.

    The suffix is one that all files have and that begins with one of "_-. ", such as
    "_DeepFilterNet3". A file belongs to one utterance.
    """
    known = {**by_mark(files), **named_alike(files, names), **files}
    found = {name: known[name] for name in names if name in known}
    taken = set(found.values())
    for suffix in _suffixes(list(files)):
        for name in names:
            path = files.get(name + suffix)
            if path and name not in found and path not in taken:
                found[name] = path
                taken.add(path)
    return found


def _suffixes(names: list[str]) -> list[str]:
    """Return the suffixes that all names have, the longest first."""
    ending = ""
    for signs in zip(*map(reversed, names), strict=False):
        if len(set(signs)) > 1:
            break
        ending = signs[0] + ending
    return [ending[place:] for place, sign in enumerate(ending) if sign in "_-. "]

"""Read and write what `qse enroll` finds of a talker, and begin streams with it.

A voice is the value of some entries of a model's state at the beginning of a stream; where they
are zero, the model keeps whoever is near. It is a file of JSON: model, version, and the entries by
their names in the graph for 16 kHz, (bands, numbers) each. The full-band graph has the same entries
with more bands, where they are zero.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..audio.file_mode import OWNER_ALONE
from ..audio.folder_path import held_folder
from ..audio.writer import atomic_target
from ..bounded_text import read_text
from ..errors import QseError
from ..printable import shortened
from .engine_session import State

SUFFIX = ".voice"
NAMES = (".scale", ".shift")  # so end the names of the entries
LONGEST = 1 << 22  # characters of a file
# of a text that is no voice
FAULTS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
HIGHEST = 1e6  # of an entry; those of a talker are below 10


@dataclass(frozen=True, eq=False)
class Voice:
    """Hold entries of the state, (bands, numbers) each, and the name and version of the model that
    they belong to. `origin`: the file, for messages."""

    model: str
    version: str
    entries: Mapping[str, np.ndarray]
    origin: str

    @property
    def checksum(self) -> str:
        """SHA-256 of the entries, as hexadecimal digits."""
        digest = hashlib.sha256()
        for name in sorted(self.entries):
            digest.update(self.entries[name].tobytes())
        return digest.hexdigest()

    def beginning(self, model: str, version: str, zeros: State) -> State:
        """Return the state that a stream of a model begins with, of the one before that, `zeros`.

        Raises QseError for another model or version than the voice's own, or where the entries do
        not fit.
        """
        if (model, version) != (self.model, self.version):
            own = shortened(f"{self.model} {self.version}")
            raise QseError(
                f"{self.origin} is a voice for {own}, and not for {model} {version}: "
                "enroll the talker again"
            )
        state = dict(zeros)
        if sorted(self.entries) != entries_of(zeros):
            raise QseError(_damaged(self.origin))
        for name, entry in self.entries.items():
            bands, numbers = zeros[name].shape
            if entry.shape[1] != numbers or entry.shape[0] > bands:
                raise QseError(_damaged(self.origin))
            state[name] = np.pad(entry, ((0, bands - len(entry)), (0, 0)))
        return state

    def save(self, path: Path, overwrite: bool = False) -> None:
        """Write the voice to `path`, for its owner alone. Raises QseError where there is another
        file, unless `overwrite`, and where `path` cannot be written."""
        entries = {name: entry.tolist() for name, entry in self.entries.items()}
        content = {"qse voice": 1, "model": self.model, "version": self.version, "entries": entries}
        with atomic_target(path, overwrite, source=OWNER_ALONE, is_named=True) as part:
            part.write_text(json.dumps(content), encoding="utf-8")


def entries_of(state: Mapping[str, Any]) -> list[str]:
    """Return the names of the entries of a talker among those of a state, sorted."""
    return sorted(name for name in state if name.endswith(NAMES))


def read_voice(path: Path) -> Voice:
    """Read a voice. Raises QseError for a file that is none, is damaged, or holds zeros, and where
    a link on the way is another user's in a folder that several can write."""
    try:
        with held_folder(path, reading=True):  # which looks at the links
            voice = _parsed(json.loads(read_text(path, LONGEST)), str(path))
    except OSError as error:
        raise QseError(f"{path} cannot be read: {error.strerror}") from error
    except FAULTS as error:
        raise QseError(_damaged(str(path))) from error
    if not any(entry.any() for entry in voice.entries.values()):
        raise QseError(f"{path} holds zeros, which is nobody's voice: enroll the talker again")
    return voice


def _parsed(content: Any, origin: str) -> Voice:
    """Return the voice in the content of a file. Raises exceptions of several kinds."""
    if content["qse voice"] != 1:
        raise ValueError
    entries = {}
    for name, rows in content["entries"].items():
        entry = np.array(rows, np.float64)
        if entry.ndim != 2 or not (np.abs(entry) < HIGHEST).all():
            raise ValueError
        entries[name] = entry.astype(np.float32)
    return Voice(str(content["model"]), str(content["version"]), entries, origin)


def _damaged(name: str) -> str:
    return f"{name} is no voice that qse enroll wrote, or is damaged: enroll the talker again"

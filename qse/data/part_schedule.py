"""Record which parts of a bundle a run trains on, and from which step on: RUN/parts.csv.

Every batch is a function of its step and this table, so that a resumed run gets the batches of an
uninterrupted one. The first process of a run writes the table, the others read it.
"""

import csv
from dataclasses import asdict, dataclass, fields
from io import StringIO
from pathlib import Path

from ..audio.atomic_write import atomic_path
from ..audio.folder_path import open_found
from ..bounded_text import read_table_text
from ..errors import QseError

NAME = "parts.csv"


@dataclass(frozen=True)
class TakenIn:
    """A part, and the first step that it is used for.

    identity, name: of the part and of its file. speech_hours, noise_hours: that it adds.
    """

    step: int
    identity: str
    name: str
    speech_hours: float
    noise_hours: float


COLUMNS = [field.name for field in fields(TakenIn)]


class PartSchedule:
    """The table at `path`; empty if there is none."""

    def __init__(self, path: Path):
        self.path = path
        self._state: tuple[int, int] | None = None
        self._rows: list[TakenIn] = []

    def rows(self) -> list[TakenIn]:
        """Return the table, read again if it has changed. Raises QseError if it is damaged."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return self._rows
        state = (status.st_size, status.st_mtime_ns)
        if state != self._state:
            self._rows = self._read()
            self._state = state
        return self._rows

    def at(self, step: int) -> list[str]:
        """Return the identities of the parts that are used for a step."""
        return [row.identity for row in self.rows() if row.step <= step]

    def add(self, rows: list[TakenIn]) -> None:
        """Add rows to the table, which is rewritten atomically."""
        table = [*self.rows(), *rows]
        with (
            atomic_path(self.path, source=None) as part,
            part.open("w", newline="", encoding="utf-8", errors="backslashreplace") as file,
        ):
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            for row in table:
                writer.writerow(asdict(row))

    def _read(self) -> list[TakenIn]:
        found = []
        cure = "correct it, or delete it and lose which parts were used from which step on"
        try:
            text = read_table_text(self.path, cure, opener=open_found)
            table = csv.DictReader(StringIO(text, newline=""), strict=True)
            if table.fieldnames and list(table.fieldnames) != COLUMNS:
                raise ValueError("it has other columns")
            for row in table:
                hours = (float(row["speech_hours"]), float(row["noise_hours"]))
                found.append(TakenIn(int(row["step"]), row["identity"], row["name"], *hours))
        except (OSError, ValueError, TypeError, KeyError, csv.Error) as error:
            raise QseError(f"{self.path} is damaged ({error}): {cure}") from error
        return found

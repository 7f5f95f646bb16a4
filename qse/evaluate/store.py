"""Store an evaluation on disk row by row, so that an interrupted one can continue.

scores.csv                one row per utterance
settings.json             system, data and options; a folder holds one evaluation
summary.json, summary.md  means and intervals, written at the end
"""

import csv
import json
from pathlib import Path
from typing import Any

from ..audio.atomic_write import atomic_path, write_text
from ..errors import QseError

Row = dict[str, Any]
CURE = "give --out another folder, or delete this one"
TEXT = ("name", "stamp", "error")  # columns that are not numbers


class Store:
    """The rows of one evaluation under `folder`.

    Rows of an unfinished run are kept if they have no error and their stamp is still the one in `stamps`; the rows of a
    finished run are dropped. Raises QseError if the folder holds a run with other settings.
    """

    def __init__(
        self, folder: Path, columns: list[str], settings: dict[str, Any], stamps: dict[str, str]
    ):
        self.folder, self.columns = folder, columns
        self._table, self._settings = folder / "scores.csv", folder / "settings.json"
        _writable(folder)
        self.rows = self._unfinished(settings, stamps)
        write_text(self._settings, json.dumps(settings, indent=2) + "\n")
        (folder / "summary.json").unlink(missing_ok=True)
        self.write(self.rows)

    def add(self, row: Row) -> None:
        """Append a row; it is on disk when this returns."""
        self.rows.append(row)
        with self._table.open("a", newline="", encoding="utf-8") as file:
            csv.DictWriter(file, self.columns).writerow(row)

    def write(self, rows: list[Row]) -> None:
        """Replace the table by `rows` atomically."""
        with (
            atomic_path(self._table) as beside,
            beside.open("w", newline="", encoding="utf-8") as file,
        ):
            writer = csv.DictWriter(file, self.columns)
            writer.writeheader()
            writer.writerows(rows)

    def _former_settings(self) -> dict[str, Any]:
        try:
            before = json.loads(self._settings.read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            raise QseError(f"{self._settings} is damaged ({error}): {CURE}") from error
        if not isinstance(before, dict):
            raise QseError(f"{self._settings} is damaged (no object): {CURE}")
        return before

    def _unfinished(self, settings: dict[str, Any], stamps: dict[str, str]) -> list[Row]:
        if not self._table.is_file() or not self._settings.is_file():
            return []
        before, rows = self._former_settings(), read_rows(self._table)
        finished = (self.folder / "summary.json").is_file() and not any(
            "error" in row for row in rows
        )
        odd = [key for key in {**settings, **before} if before.get(key) != settings.get(key)]
        if odd:
            what = f"{self.folder} holds an evaluation of something else ({', '.join(odd)} differ)"
            raise QseError(f"{what}: {CURE}")
        if not {key for row in rows for key in row} <= set(self.columns):
            raise QseError(f"{self._table} has other columns: {CURE}")
        if finished:
            return []
        return [
            row
            for row in rows
            if "error" not in row and row.get("stamp") == stamps.get(row["name"])
        ]


def read_rows(path: Path) -> list[Row]:
    """Return the complete rows of a scores.csv, numbers as floats; empty cells are left out.

    Raises QseError where it is no such table.
    """
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            header, *body = list(csv.reader(file))
        complete = [zip(header, line, strict=True) for line in body if len(line) == len(header)]
        rows = [
            {key: value if key in TEXT else float(value) for key, value in line if value}
            for line in complete
        ]
    except (ValueError, csv.Error) as error:
        raise QseError(f"{path} is damaged ({error}): {CURE}") from error
    if not all("name" in row for row in rows):
        raise QseError(f"{path} is damaged (rows without a name): {CURE}")
    return rows


def _writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as reason:
        raise QseError(
            f"{folder} cannot be created: {reason}; give --out another folder"
        ) from reason

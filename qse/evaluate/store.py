"""Store an evaluation on disk row by row, so that an interrupted one can continue.

scores.csv                one row per utterance
settings.json             system, data and options; a folder holds one evaluation
summary.json, summary.md  means and intervals, written at the end
"""

import csv
import json
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from io import StringIO, TextIOWrapper
from pathlib import Path
from typing import Any

from ..audio.atomic_write import atomic_path, open_to_append, remove, write_text
from ..audio.claim import held
from ..audio.folder_path import make_folder, open_found
from ..bounded_text import Opener, read_table_text, read_text
from ..errors import QseError

Row = dict[str, Any]
SCORES = "scores.csv"
SETTINGS = "settings.json"
# at the end
WRITTEN = ("summary.json", "summary.md", "spectrograms.png", "histogram-*.png", "worst-*.png")
CURE = "name another folder, or delete this one"
FORM: Any = {"newline": "", "encoding": "utf-8", "errors": "surrogateescape"}  # names: any bytes
LONGEST = 1 << 22  # characters of settings and summaries, which have some thousands
TEXT = ("name", "stamp", "damage", "error")  # columns that are not numbers
# begin a formula in a spreadsheet: a text that begins with one gets an apostrophe before it
FORMULA = tuple("=+-@\t\r'")


class Store:
    """The rows of one evaluation under `folder`.

    Rows that are there already are kept if they have no error and their stamp is the one in
    `stamps`. findings: the saved summary if it holds for all of them, else None.
    Raises QseError if the folder holds an evaluation with other settings, or files of these names
    that are none of an evaluation.
    """

    def __init__(
        self, folder: Path, columns: list[str], settings: dict[str, Any], stamps: dict[str, str]
    ):
        self.folder = folder
        self.columns = columns
        self._table = folder / SCORES
        self._settings = folder / SETTINGS
        self._summary = folder / "summary.json"
        former = self._former(settings)
        self.rows = []
        for row in former:  # those without an error, of the files as they are now
            if "error" not in row and row.get("stamp") == stamps.get(row["name"]):
                self.rows.append(row)
        self.findings: dict[str, Any] | None = None
        if self.rows == former and by_utterance(former).keys() == stamps.keys():
            self.findings = self._saved()
        self._text = json.dumps(settings, indent=2) + "\n"
        self._has_begun = self.findings is not None

    def begin(self) -> None:
        """Drop what is there and does not hold any more; done by the first row, so that an
        evaluation that cannot begin leaves it."""
        if not self._has_begun:
            write_text(self._settings, self._text, source=None)
            remove(self._summary)
            self.write(self.rows)
            self._has_begun = True

    def add(self, row: Row) -> None:
        """Append a row; it is on disk when this returns."""
        self.begin()
        self.rows.append(row)
        with TextIOWrapper(open_to_append(self._table, source=None), **FORM) as file:
            csv.DictWriter(file, self.columns).writerow(_guarded(row))

    def write(self, rows: list[Row]) -> None:
        """Replace the table by `rows` atomically."""
        with (
            atomic_path(self._table, source=None) as beside,
            beside.open("w", **FORM) as file,
        ):
            writer = csv.DictWriter(file, self.columns)
            writer.writeheader()
            writer.writerows(map(_guarded, rows))

    def _former(self, settings: dict[str, Any]) -> list[Row]:
        """Return the rows of the folder. QseError if they are of other settings, or of unknown
        ones."""
        if not self._table.is_file():
            self._check_free(settings)
            return []
        if not self._settings.is_file():
            raise QseError(f"{self._table} is there without {SETTINGS} beside it: {CURE}")
        before = read_settings(self.folder, open_found)
        odd = [key for key in {**settings, **before} if before.get(key) != settings.get(key)]
        if odd:
            what = f"{self.folder} holds an evaluation of something else"
            raise QseError(f"{what} ({', '.join(odd)} differ): {CURE}")

        rows = read_rows(self._table, open_found)
        if set().union(*rows) - set(self.columns):
            raise QseError(f"{self._table} has other columns: {CURE}")
        return rows

    def _check_free(self, settings: dict[str, Any]) -> None:
        """Raise QseError for files that no evaluation has written here, as there is no table.

        Settings are written before the table: those of this evaluation are its own.
        """
        found = [path.name for name in WRITTEN for path in sorted(self.folder.glob(name))]
        if read_settings(self.folder, open_found) not in ({}, settings):
            found.append(SETTINGS)
        if found:
            raise QseError(f"{self.folder / found[0]} is there without {SCORES} beside it: {CURE}")

    def _saved(self) -> dict[str, Any] | None:
        """Return the summary of the folder, None if there is none, or one that is damaged."""
        try:
            found = json.loads(read_text(self._summary, LONGEST, opener=open_found))
        except (OSError, QseError, ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) and "enhanced" in found else None


def has_results(folder: str | Path) -> bool:
    """Return whether a folder holds the scores of an evaluation."""
    return Path(folder, SCORES).is_file()


def read_settings(folder: Path, opener: Opener | None = None) -> dict[str, Any]:
    """Return the settings of the evaluation in a folder, {} if they are missing. opener: as of
    `open`.

    Raises QseError where they are damaged.
    """
    path = folder / SETTINGS
    if not path.is_file():
        return {}
    try:
        found = json.loads(read_text(path, LONGEST, CURE, opener=opener))
    except (ValueError, RecursionError) as error:
        raise QseError(f"{path} is damaged ({error}): {CURE}") from error
    if not isinstance(found, dict):
        raise QseError(f"{path} is damaged (no object): {CURE}")
    return found


def read_rows(path: Path, opener: Opener | None = None) -> list[Row]:
    """Return the complete rows of a scores.csv, numbers as floats; empty cells are left out.
    opener: as of `open`.

    Raises QseError where it is no such table.
    """
    try:
        text = read_table_text(Path(path), CURE, FORM["errors"], opener)
        header, *body = list(csv.reader(StringIO(text, newline="")))
        rows = [_row(header, line) for line in body if len(line) == len(header)]
    except (ValueError, csv.Error) as error:
        raise QseError(f"{path} is damaged ({error}): {CURE}") from error
    if "name" not in header or not all("name" in row for row in rows):
        raise QseError(f"{path} is damaged (rows without a name): {CURE}")
    return rows


def by_utterance(rows: Iterable[Row]) -> dict[str, Row]:
    """Return {utterance: its row}."""
    return {row["name"]: row for row in rows}


def values_of(rows: Iterable[Row], column: str) -> list[float]:
    """Return the values of a column, of the rows that have one."""
    return [row[column] for row in rows if column in row]


def _guarded(row: Row) -> Row:
    """Return a row whose texts no spreadsheet takes for a formula."""
    found = dict(row)
    for name in TEXT:
        text = str(row.get(name, ""))
        if text.startswith(FORMULA):
            found[name] = f"'{text}"
    return found


def _row(header: list[str], line: list[str]) -> Row:
    row: Row = {}
    for key, value in zip(header, line, strict=True):
        if value:
            row[key] = _unguarded(value) if key in TEXT else float(value)
    return row


def _unguarded(text: str) -> str:
    return text[1:] if text.startswith("'") and text[1:].startswith(FORMULA) else text


def claimed(folder: Path) -> AbstractContextManager:
    """Return the claim to the evaluation in a folder, which is made; it ends with the context.

    Raises QseError while another process has it, and where the folder cannot be made.
    """
    try:
        make_folder(folder)
    except OSError as reason:
        raise QseError(f"{folder} cannot be created: {reason}; name another one") from reason
    taken = QseError(f"{folder}: another process evaluates into it; wait for its end")
    try:
        return held(folder / "evaluation", taken)
    except OSError:  # nothing is written there; what it holds can be read
        return nullcontext()

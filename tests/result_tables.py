"""Read the tables that experiments write."""

import csv
from pathlib import Path
from typing import Any

from qse_papers.results import column, rows_with


def rows_of(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def rows_by(path: Path, key: str) -> dict[str, dict[str, str]]:
    """Return the rows of a CSV file by their cell `key`."""
    return {row[key]: row for row in rows_of(path)}


def numbers(rows: list[dict[str, str]], key: str, **cells: Any) -> list[float]:
    """Return the numbers `key` of the rows that have all of `cells`."""
    return list(map(float, column(rows_with(rows, **cells), key)))

"""Tables that experiments write."""

import csv
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

from qse.audio.atomic_write import atomic_path, write_text

Row = dict[str, Any]


def rows_with(rows: Sequence[Row], **cells: Any) -> list[Row]:
    """Return the rows that have all of these cells."""
    return [row for row in rows if cells.items() <= row.items()]


def column(rows: Sequence[Row], key: str) -> list[Any]:
    """Return the cells `key` of all rows."""
    return list(map(itemgetter(key), rows))


def distinct(rows: Sequence[Row], *keys: str) -> list[Any]:
    """Return the different cells `keys` of the rows, tuples if there are several, in order."""
    return list(dict.fromkeys(map(itemgetter(*keys), rows)))


def write_table(path: Path, rows: Sequence[Row]) -> None:
    """Write a CSV file with the columns of the first row; floats with six significant digits."""
    with atomic_path(path, source=None) as part, part.open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        for row in rows:
            table.writerow({key: _text(cell, 6) for key, cell in row.items()})


def markdown_table(lines: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table of lines of cells; the first line is the heading."""
    heading, *others = lines
    every = [heading, ["---"] * len(heading), *others]
    return "".join(f"| {' | '.join(line)} |\n" for line in every)


def markdown(rows: Sequence[Row]) -> str:
    """Return a Markdown table with the columns of the first row; floats with four digits."""
    lines = [list(rows[0])]
    for row in rows:
        lines.append([str(_text(cell, 4)) for cell in row.values()])
    return markdown_table(lines)


def write_markdown(path: Path, rows: Sequence[Row], *notes: str) -> None:
    """Write `markdown(rows)`, then each note as a paragraph."""
    paragraphs = [markdown(rows)]
    for note in notes:
        paragraphs.append(f"{note}\n")
    write_text(path, "\n".join(paragraphs), source=None)


def write_results(stem: Path, table: Sequence[Row], curves: Sequence[Row], *notes: str) -> None:
    """Write the table of an experiment as STEM.csv and STEM.md, and its curves as STEM-curves.csv.

    `notes` stand below the Markdown table.
    """
    write_table(stem.with_suffix(".csv"), table)
    write_markdown(stem.with_suffix(".md"), table, *notes)
    write_table(stem.with_name(f"{stem.name}-curves.csv"), curves)


def summary(table: Sequence[Row], template: str) -> str:
    """Return `template` with the cells of each row, "{network} {accuracy %}", in one line."""
    return "; ".join(template.format_map(row) for row in table)


def _text(cell: Any, digits: int) -> Any:
    """Return a float with `digits` significant digits, anything else as it is."""
    return f"{cell:.{digits}g}" if isinstance(cell, float) else cell

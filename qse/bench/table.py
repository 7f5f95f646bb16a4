"""Hold the results of a benchmark: rows of numbers, their columns as text, and the machine that was
measured."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..machine import Machine


@dataclass(frozen=True)
class Column:
    """A column: `key` of a row, heading, and format;
    `unit` times the value is written in `form`."""

    key: str
    heading: str
    form: str = ""
    unit: float = 1.0

    def text(self, row: Mapping[str, Any]) -> str:
        value = row.get(self.key)
        if value is None:
            return "-"
        return value if isinstance(value, str) else format(value * self.unit, self.form)


@dataclass(frozen=True)
class Table:
    """Results of a topic: `rows` in plain units (seconds, bytes, counts), columns for display,
    `notes` as sentences."""

    topic: str
    columns: tuple[Column, ...]
    rows: list[dict[str, Any]]
    machine: Machine | None = None  # None for counts, which are the same everywhere
    notes: tuple[str, ...] = ()

    def cells(self) -> list[list[str]]:
        """Return the rows as text, in the order of the columns."""
        cells = []
        for row in self.rows:
            cells.append([column.text(row) for column in self.columns])
        return cells

    def plain(self) -> dict[str, Any]:
        """Return the table as plain data for JSON."""
        machine = {"machine": asdict(self.machine)} if self.machine else {}
        return {"topic": self.topic, **machine, "rows": self.rows, "notes": list(self.notes)}

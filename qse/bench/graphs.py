"""Count the cost of the graphs of models: the same numbers on every machine."""

from dataclasses import asdict

from . import Request
from .count import cost
from .models import chosen, graphs
from .table import Column, Table

COLUMNS = (
    Column("model", "model"),
    Column("operators", "operators", ".0f"),
    Column("macs", "MMAC/s", ".1f", 1e-6),
    Column("state_bytes", "state KiB", ".1f", 1 / 1024),
    Column("model_bytes", "file KiB", ".1f", 1 / 1024),
)


def bench(request: Request) -> Table:
    """Count the models of the request, or all trained ones."""
    with graphs(chosen(request.models)) as paths:
        rows = [{"model": name, **asdict(cost(path))} for name, path in paths.items()]
    return Table("graphs", COLUMNS, rows)

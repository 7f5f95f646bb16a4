"""Tables of benchmarks: units, plain data, narrow terminals."""

import json
import re
import sys

import pytest

pytest.importorskip("torch")

from qse_cli.bench import print_table

from qse.bench.table import Column, Table
from qse.machine import machine


def test_table_shows_units_and_keeps_plain_numbers():
    columns = (
        Column("name", "model"),
        Column("p50", "µs", ".1f", 1e6),
        Column("paper", "paper", ".2f"),
    )
    rows = [{"name": "x", "p50": 2.5e-4}, {"name": "y", "p50": 1e-3, "paper": 1.27}]
    table = Table("stream", columns, rows, machine(1), ("A note.",))
    assert set(machine(1).packages) == {"qse-speech", "numpy", "onnxruntime", "torch"}
    assert table.cells() == [["x", "250.0", "-"], ["y", "1000.0", "1.27"]]
    plain = json.loads(json.dumps(table.plain()))
    assert (
        plain["rows"][0]["p50"] == 2.5e-4
        and plain["machine"]["threads"] == 1
        and plain["notes"] == ["A note."]
    )


def test_print_table_transposes_on_narrow_terminals(capsys, monkeypatch):
    def printed(width):
        monkeypatch.setenv("COLUMNS", str(width))
        print_table(
            Table("stream", columns, [{"name": "x", "p50": 2.5e-4}, {"name": "y", "p50": 1e-3}])
        )
        plain = re.sub(r"\x1b\[\d*m", "", capsys.readouterr().out)
        return [line.split() for line in plain.splitlines()]

    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    columns = Column("name", "model"), *[Column("p50", "µs", ".1f", 1e6)] * 3
    head = ["model", "µs", "µs", "µs"]
    x = ["x", *["250.0"] * 3]
    y = ["y", *["1000.0"] * 3]
    assert printed(40) == [head, x, y]
    assert printed(30) == [list(line) for line in zip(head, x, y, strict=True)]
    assert printed(20) == [head, x, y]  # nothing is cut off if neither fits

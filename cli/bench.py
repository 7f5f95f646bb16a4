"""qse bench: measure speed on this machine, as a table and as JSON."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qse.printable import printable

from .options import Overwrite

if TYPE_CHECKING:
    from rich.table import Table

    from qse.bench.table import Table as Results

WIDE = 200  # characters, more than any table needs


def bench(
    topic: Annotated[
        str, typer.Argument(help="stream, graphs, precision, attention, layers, offline or train.")
    ],
    models: Annotated[
        list[str] | None,
        typer.Argument(metavar="MODEL...", help="Models or recipes; for train, offline: networks."),
    ] = None,
    seconds: Annotated[float, typer.Option(help="Measuring time of every row in seconds.")] = 3.0,
    threads: Annotated[int, typer.Option(min=1, help="Threads of one computation.")] = 1,
    device: Annotated[str, typer.Option(help="For offline: cpu, cuda, cuda:N or mps.")] = "cpu",
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the numbers to this file as well.")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Measure the speed of streaming, attention, quaternion layers,
    offline networks or training."""
    from qse.audio.writer import check_target
    from qse.bench import Request, topics
    from qse.errors import QseError, UsageError

    functions = topics()
    if topic not in functions:
        raise UsageError(f"no topic called {topic}: there are {', '.join(functions)}")
    if json and not json.parent.is_dir():
        raise UsageError(f"{json}: there is no folder {json.parent}; make it first")
    if json:
        check_target(json, overwrite)
    table = functions[topic](Request(tuple(models or ()), seconds, threads, device))
    print_table(table)
    if json:
        from json import dumps

        from qse.audio.atomic_write import write_text

        try:
            write_text(
                json, dumps(table.plain(), indent=1) + "\n", overwrite, source=None, is_named=True
            )
        except OSError as error:
            raise QseError(f"{json} cannot be written: {error.strerror}") from error


def print_table(table: "Results") -> None:
    """Print the table; transposed, with a line per column, on a terminal that is too narrow
    otherwise."""
    from rich.console import Console

    lines = [[column.heading for column in table.columns], *table.cells()]
    wide = _grid(lines)
    transposed = _grid(list(zip(*lines, strict=True)))
    width = Console().width if sys.stdout.isatty() else WIDE
    console = Console(width=WIDE, soft_wrap=True, markup=False, highlight=False)
    narrow = console.measure(wide).maximum > width >= console.measure(transposed).maximum
    shown = transposed if narrow else wide
    if table.machine:
        console.print(str(table.machine))
    console.print(shown)
    for note in table.notes:
        console.print(printable(note))


def _grid(lines: Sequence[Sequence[str]]) -> "Table":
    """Return a table of `lines` of text with the first one as header; text to the left, numbers to
    the right."""
    from rich.table import Table

    shown = Table(box=None)
    for heading, value in zip(*lines[:2], strict=True):
        shown.add_column(heading, justify="left" if value[:1].isalpha() else "right", no_wrap=True)
    for cells in lines[1:]:
        shown.add_row(*map(printable, cells))
    return shown

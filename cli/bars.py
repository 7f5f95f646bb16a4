"""Show the progress of a command."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from qse.printable import printable


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function of (description, number done, total) that shows a bar on standard error, one
    bar at a time."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    bar = Progress(*columns, console=Console(stderr=True))
    tasks = {}

    def advance(what: str, done: int, total: int) -> None:
        if what not in tasks:
            tasks[what] = bar.add_task(printable(what), total=total)
        bar.start()
        bar.update(tasks[what], completed=done)
        if done == total:
            bar.stop()
            bar.update(tasks[what], visible=False)  # its last line stays on the screen

    try:
        yield advance
    finally:
        if tasks:
            bar.stop()

"""Progress bar of a training run, on stderr and only where that is a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(title: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a bar of `total` steps and the time that remains; yield what to call after a step."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda: None
        return

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda: bar.advance(task)

"""qse experiment: run experiments of the papers at a size that takes minutes on two cores."""

from pathlib import Path
from textwrap import fill
from typing import Annotated

import typer

from qse.experiments import EXPERIMENTS


def experiment(
    name: Annotated[str, typer.Argument(help="Name of the experiment: see above.")],
    out: Annotated[
        Path, typer.Option(help="Folder for tables (CSV, Markdown) and pictures (PNG).")
    ],
    full: Annotated[
        bool, typer.Option("--full", help="Use the paper's settings; hours to days.")
    ] = False,
    change: Annotated[
        list[str] | None, typer.Option("--set", help="Set key=value; may be repeated.")
    ] = None,
) -> None:
    """Run an experiment from the papers about quaternion layers at a small size."""
    from qse.experiments import experiment as run

    typer.echo(run(name, out, change or [], full))


_NAMES = fill(", ".join(EXPERIMENTS), 76, break_on_hyphens=False)
experiment.__doc__ = (
    f"{experiment.__doc__}\n\n\b\nThe experiments:\n{_NAMES}"  # \b: lines as they are
)

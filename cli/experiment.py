"""qse experiment: what the papers claim of their building blocks, at a size that two cores finish in minutes."""

from pathlib import Path
from typing import Annotated

import typer


def experiment(
    name: Annotated[str, typer.Argument(help="Its name; a wrong one is answered with the right ones.")],
    out: Annotated[Path, typer.Option(help="Folder for tables (CSV) and pictures (PNG).")],
    full: Annotated[bool, typer.Option("--full", help="The settings of the paper; hours to days.")] = False,
    change: Annotated[list[str] | None, typer.Option("--set", help="key=value, over the settings.")] = None,
) -> None:
    """Run a small experiment from the papers about quaternion layers."""
    from qse.experiments import experiment as run

    typer.echo(run(name, out, change or [], full))

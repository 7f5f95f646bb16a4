"""Options that more than one command has."""

import math
from typing import Annotated

import typer


def number(value: float | None) -> float | None:
    if value is not None and math.isnan(value):  # which is not below any minimum
        raise typer.BadParameter("nan is no number")
    return value


Strength = Annotated[
    float | None,
    typer.Option(min=0, metavar="DB", callback=number, help="Push noise down by DB at most; else without limit."),
]

RECIPE = typer.Option("--recipe", "--config", help="Recipe: its name, or a TOML file.")
SPEECH = typer.Option(help="Folder of clean speech, one sub-folder per speaker.")
NOISE = typer.Option(help="Folder of noise, one sub-folder per class.")
Change = Annotated[list[str] | None, typer.Option("--set", help="table.key=value, over the recipe.")]

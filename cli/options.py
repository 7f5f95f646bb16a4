"""Define options that more than one command has."""

import math
import re
from typing import Annotated, Literal

import typer


def number(value: float | None) -> float | None:
    if value is not None and math.isnan(value):  # not below any minimum
        raise typer.BadParameter("nan is no number")
    return value


PARAMETERS = (  # that messages of the library name
    "band",
    "cache",
    "data",
    "device",
    "noise",
    "processes",
    "resume",
    "sample_rate",
    "speech",
    "threads",
    "track",
    "unknown",
    "valid",
)
PARAMETER = re.compile(rf"(?<![\w./-])({'|'.join(PARAMETERS)})=(True\b)?")


def as_options(sentence: str) -> str:
    """Return a message of the library with parameters as options.

    "sample_rate=48000" becomes "--sample-rate 48000", "resume=True" becomes "--resume".
    """
    return PARAMETER.sub(_as_option, sentence)


def _as_option(found: re.Match[str]) -> str:
    name, is_flag = found.groups()
    return f"--{name.replace('_', '-')}" + ("" if is_flag else " ")


Model = Annotated[str, typer.Option(metavar="NAME", help="Model, by name (see qse info) or path.")]
Band = Annotated[
    Literal["wide", "full"] | None,
    typer.Option(help="Process up to 8 kHz (wide) or 24 kHz (full). [default: by the sample rate]"),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace files that exist.")]
Strength = Annotated[
    float | None,
    typer.Option(
        min=0, metavar="DB", callback=number, help="Lower noise by DB at most. [default: no limit]"
    ),
]

RECIPE = typer.Option("--recipe", help="Recipe: its name, or a TOML file.")
SPEECH = typer.Option(help="Folder of clean speech, one sub-folder per speaker.")
NOISE = typer.Option(help="Folder of noise, one sub-folder per class.")
Change = Annotated[
    list[str] | None,
    typer.Option("--set", help="Set a key of the recipe: table.key=value; repeatable."),
]

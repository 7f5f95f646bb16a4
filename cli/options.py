"""Define options that more than one command has."""

import math
import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, Literal, get_type_hints

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


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command for typer whose options are the fields of the dataclasses that `command`
    takes.

    A parameter of another type stays as it is.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    options: dict[str, Parameter] = {}
    for name in signature(command).parameters:
        if name not in groups:
            options[name] = Parameter(name, Parameter.KEYWORD_ONLY, annotation=hints[name])
            continue
        of_fields = get_type_hints(groups[name], include_extras=True)
        for field in fields(groups[name]):
            options[field.name] = Parameter(
                field.name,
                Parameter.KEYWORD_ONLY,
                default=field.default,
                annotation=of_fields[field.name],
            )

    @wraps(command)
    def expanded(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        command(**values)

    expanded.__signature__ = Signature(list(options.values()))  # type: ignore[attr-defined]
    expanded.__annotations__ = {name: option.annotation for name, option in options.items()}
    return expanded


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

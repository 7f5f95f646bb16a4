"""Define options that more than one command has."""

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from qse.errors import UsageError

from .completion import models_that_begin, recipes_that_begin
from .streams import say

if TYPE_CHECKING:
    from qse.runtime.bands import BandModels
    from qse.runtime.enrolment import Talker


def number(value: float | None) -> float | None:
    if value is not None and math.isnan(value):  # not below any minimum
        raise typer.BadParameter("nan is no number")
    return value


def moment(text: str) -> float:
    """Return the seconds of a time such as 80, 1:20 or 1:02:03.5."""
    if not re.fullmatch(r"(\d+:){0,2}\d+(\.\d*)?", text):
        raise typer.BadParameter(f"{text!r} is no time: write seconds, 1:20 or 1:02:03.5")
    seconds = 0.0
    for digits in text.split(":"):
        seconds = 60 * seconds + float(digits)
    return seconds


PARAMETERS = (  # that messages of the library name
    "band",
    "bundles",
    "cache",
    "channel",
    "data",
    "device",
    "fast",
    "jobs",
    "loudness",
    "noise",
    "overwrite",
    "processes",
    "reconnect",
    "resume",
    "salvage",
    "shard",
    "skip_unreadable",
    "sample_rate",
    "speech",
    "talkers",
    "threads",
    "track",
    "trust",
    "two_grids",
    "unknown",
    "valid",
    "watch",
)
# but not the beginning of a file name, as of track=2.wav
PARAMETER = re.compile(rf"(?<![\w./-])({'|'.join(PARAMETERS)})=(?![^\s:;,]*\.[^\W\d])(True\b)?")


Trust = Annotated[
    bool,
    typer.Option(
        "--trust", help="Import the classes outside qse that the file of a run or a model names."
    ),
]


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
    for name, parameter in signature(command).parameters.items():
        if name not in groups:
            options[name] = _option(name, parameter.default, hints[name])
            continue
        of_fields = get_type_hints(groups[name], include_extras=True)
        for field in fields(groups[name]):
            default = Parameter.empty if field.default is MISSING else field.default
            options[field.name] = _option(field.name, default, of_fields[field.name])

    @wraps(command)
    def expanded(**values: Any) -> None:
        for name, group in groups.items():
            of_group = {field.name: values.pop(field.name) for field in fields(group)}
            values[name] = group(**of_group)
        command(**values)

    expanded.__signature__ = Signature(list(options.values()))  # type: ignore[attr-defined]
    expanded.__annotations__ = {name: option.annotation for name, option in options.items()}
    return expanded


def _option(name: str, default: Any, annotation: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def named_model(default: str) -> Any:
    """Return the option of a model, with its default for the help."""
    return typer.Option(
        metavar="NAME",
        help=f"Model, by name (see qse info) or path. [default: {default}]",
        autocompletion=models_that_begin,
    )


Who = Annotated[
    str | None,
    typer.Option(
        metavar="WHO",
        help="Keep one voice and remove others: near, or a file of qse enroll, or a recording.",
    ),
]
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


def chosen_model(named: str | None, talker: str | None, default: str) -> str:
    """Return the model that was named; else the one that keeps a talker, if one is asked for, or
    the default. Raises UsageError where no model that keeps a talker is installed."""
    from qse.runtime.zoo import TALKER_MODEL, available

    if named or talker is None:
        return named or default
    if TALKER_MODEL not in available():
        raise UsageError("no installed model keeps one talker: name one with --model")
    return TALKER_MODEL


def chosen_talker(talker: str | None, model: str) -> "Talker | None":
    """Return the talker that --talker names, a recording as the voice in it, and say what makes
    that voice less certain."""
    from qse.runtime.enrolment import enroll, is_recording
    from qse.runtime.zoo import find

    if talker is None or not is_recording(talker):
        return talker
    found = enroll(Path(talker), find(model).parent)
    for doubt in found.doubts():
        say(f"qse: warning: {doubt}")
    return found.voice


def check_talker(talker: str | None, outputs: Iterable[str | Path]) -> None:
    """Raise UsageError where an output would replace the recording that --talker names."""
    from qse.runtime.enrolment import is_recording
    from qse.runtime.found_inputs import file_name

    if talker is None or not is_recording(talker):
        return
    if file_name(Path(talker)) in (file_name(Path(output)) for output in outputs):
        raise UsageError(f"--talker {talker} is an output, too: name another output")


@dataclass(frozen=True)
class FileProcessing:
    """The model for files, what it does, and how many at a time."""

    model: Annotated[str | None, named_model("studio-large")] = None
    talker: Who = None
    fast: Annotated[
        bool, typer.Option("--fast", help="Half the time, slightly worse: one grid of frames.")
    ] = False
    band: Band = None
    strength: Strength = None
    threads: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Cores, for files and within each. [default: all]"),
    ] = None

    def models(self) -> "BandModels":
        """Return the graphs of the model."""
        from qse.runtime.bands import BandModels
        from qse.runtime.zoo import RECORDING_MODEL

        model = chosen_model(self.model, self.talker, RECORDING_MODEL)
        talker = chosen_talker(self.talker, model)
        return BandModels(model, self.band, flush_to_zero=True, fast=self.fast, talker=talker)

    def at_once(self, models: "BandModels") -> int:
        """Return the number of cores to use: one where a file takes gigabytes."""
        from qse.machine import cores
        from qse.runtime.zoo import WIDE_BAND

        return (self.threads or cores()) if models.at(WIDE_BAND).streams else 1


RECIPE = typer.Option(
    "--recipe", help="Recipe: its name, or a TOML file.", autocompletion=recipes_that_begin
)
SPEECH = typer.Option(help="Folder of clean speech, one sub-folder per speaker.")
NOISE = typer.Option(help="Folder of noise, one sub-folder per class.")
Change = Annotated[
    list[str] | None,
    typer.Option("--set", help="Set a key of the recipe: table.key=value; repeatable."),
]

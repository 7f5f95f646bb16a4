"""qse bundle: pack speech, noise and start weights for a training on another machine."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qse.errors import UsageError

from . import bars
from .options import Overwrite, grouped, number
from .streams import say

if TYPE_CHECKING:
    from qse.data.bundle_pack import Packed

SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kMG]?)(i?)B?", re.IGNORECASE)
KBIT = {"min": 6, "max": 256, "callback": number}  # of Opus


def in_bytes(text: str) -> int:
    """Read a size such as 60MB, 1.5GB, 64MiB."""
    found = SIZE.fullmatch(text.strip())
    if not found:
        raise UsageError(f"--size {text}: write a size like 60MB")
    power = " kmg".index(found[2].lower() or " ")
    return int(float(found[1]) * (1024 if found[3] else 1000) ** power)


@dataclass(frozen=True)
class Coding:
    """Hold the options of coding recordings."""

    size: Annotated[str, typer.Option(help="Of a part, at most.")] = "60MB"
    wide_kbit: Annotated[float, typer.Option(help="kbit/s of Opus at 16 kHz.", **KBIT)] = 20.0
    full_kbit: Annotated[
        float,
        typer.Option(help="kbit/s at 48 kHz, of recordings that reach 18.5 kHz.", **KBIT),
    ] = 48.0
    seed: Annotated[int, typer.Option(help="Of the order of the recordings.")] = 0
    threads: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="[default: one per core]")
    ] = None


@dataclass(frozen=True)
class Beginning:
    """Code and weights that the other machine begins with."""

    start: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL", help="Also write start.zip: a model, or the run in a folder."
        ),
    ] = None
    wheels: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION",
            help="With wheels of qse and what it needs, for Linux and this version of Python.",
        ),
    ] = None


@grouped
def bundle(
    *,
    speech: Annotated[
        list[Path] | None, typer.Option(help="Folder of clean speech; may be repeated.")
    ] = None,
    noise: Annotated[
        list[Path] | None, typer.Option(help="Folder of noise; may be repeated.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the parts.")],
    coding: Coding,
    beginning: Beginning,
    skip_unreadable: Annotated[
        bool, typer.Option("--skip-unreadable", help="Leave out files that cannot be read.")
    ] = False,
    overwrite: Overwrite = False,
) -> None:
    """Pack speech and noise in parts of limited size for a training on another machine.

    `qse train --watch` begins with the first part that arrives there. A packing that is interrupted
    continues where it stopped.
    """
    if not (speech and noise) and (speech or noise or not beginning.start):
        raise UsageError("say what to pack: --speech DIR and --noise DIR, or --start MODEL, or all")
    if beginning.wheels and not beginning.start:
        raise UsageError("--wheels go into start.zip: name its model with --start MODEL")
    with ExitStack() as start:
        if beginning.start:
            start.enter_context(_start_part(out, beginning, overwrite))
        if not overwrite:
            start.close()  # with it, the training can begin before the parts
        if speech and noise:
            packed = _packed(speech, noise, out, coding, overwrite, skip_unreadable)
            for fault in packed.faults:
                say(f"left out: {fault}")
            _report(out, packed)


@contextmanager
def _start_part(out: Path, beginning: Beginning, overwrite: bool) -> Iterator[None]:
    """Write start.zip, which appears at the end of the context: if it fails, former parts stay, and
    if their packing fails, a former start.zip."""
    from qse.train import start_part

    assert beginning.start
    path = out / start_part.NAME
    if path.exists() and not overwrite:  # as the parts of a packing that continues
        say(f"{path}: is there already; --overwrite replaces it")
        yield
        return
    with start_part.written(path, beginning.start, beginning.wheels or "", overwrite):
        yield
    say(f"{path}: {path.stat().st_size / 1e6:.1f} MB")


def _packed(
    speech: list[Path], noise: list[Path], out: Path, coding: Coding, overwrite: bool, skip: bool
) -> "Packed":
    from qse.data.bundle_pack import pack
    from qse.data.bundle_shards import BundleConfig
    from qse.machine import cores

    changed = {"size": in_bytes(coding.size), "threads": coding.threads or cores()}
    settings = vars(coding) | changed
    with bars.progress_bar() as progress:

        def advance(done: int, total: int) -> None:
            progress("packing", done, total)

        return pack(speech, noise, out, BundleConfig(**settings), overwrite, skip, advance)


def _report(out: Path, packed: "Packed") -> None:
    """Say what each new part holds."""
    for path, index in packed.written:
        hours = f"{index.hours('speech'):.2f} h of speech, {index.hours('noise'):.2f} h of noise"
        say(f"{path}: {path.stat().st_size / 1e6:.1f} MB, {hours}")
    if not packed.written:
        say(f"{out}: all parts are there")

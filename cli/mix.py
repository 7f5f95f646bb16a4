"""qse mix: mix speech and noise into a folder of noisy and clean files."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from . import bars
from .options import NOISE, RECIPE, SPEECH, Change, number
from .streams import say


def mix(
    speech: Annotated[Path, SPEECH],
    noise: Annotated[Path, NOISE],
    out: Annotated[
        Path, typer.Option(help="Folder to write: clean/ and noisy/, with files of equal names.")
    ],
    count: Annotated[int, typer.Option(min=1, help="Number of pairs.")] = 120,
    seconds: Annotated[
        float,
        typer.Option(min=0.5, max=30, callback=number, help="Length of each pair in seconds."),
    ] = 4.0,
    recipe: Annotated[str, RECIPE] = "live-base",
    change: Change = None,
) -> None:
    """Mix noisy and clean pairs for validation or evaluation, with the settings and the seed of a
    recipe."""
    from dataclasses import replace

    from qse.data.pair_folder import write_pairs
    from qse.train.recipe import find_recipe, read_config

    config = read_config(find_recipe(recipe), change or [])
    with bars.progress_bar() as progress:
        mixed = replace(config.mix, segment=seconds)
        write_pairs(
            mixed, speech, noise, out, count, config.train.seed, partial(progress, "mixing")
        )
    say(f"{count} pairs of {seconds:g} s written to {out}")

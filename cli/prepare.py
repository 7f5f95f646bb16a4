"""qse prepare: decode the recordings of a training run once, before it begins."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import bars
from .options import RECIPE, Change, grouped
from .streams import say
from .train import Material

if TYPE_CHECKING:
    from qse.data.cached_corpus import CorpusCache


@grouped
def prepare(
    *,
    recipe: Annotated[str, RECIPE] = "live-base",
    material: Material,
    cache: Annotated[
        Path | None,
        typer.Option(help="Folder of qse's own for decoded copies of --speech and --noise."),
    ] = None,
    skip_unreadable: Annotated[
        bool,
        typer.Option("--skip-unreadable", help="Leave out, for good, files that cannot be read."),
    ] = False,
    change: Change = None,
) -> None:
    """Decode the recordings that a run trains on, and mix the validation pairs of a corpus.

    `qse train` does the same when it begins; here nothing else waits for it. A run that is
    interrupted continues where it stopped. Files that cannot be read are listed beside the copies.
    """
    from qse.data import open_sources
    from qse.errors import UsageError
    from qse.train.recipe import find_recipe, read_config

    config = read_config(find_recipe(recipe), change or [])
    speech = material.speech
    noise = material.noise
    with bars.progress_bar() as progress:
        if material.data and config.dataset:
            caches = open_sources.prepare(
                config.dataset, material.data, config.mix, progress, skip_unreadable
            )
        elif speech and noise and cache:
            share = config.train.wide_band_share
            caches = open_sources.write_cache(
                speech, noise, config.mix, share, cache, progress, skip_unreadable
            )
        else:
            raise UsageError(
                "say what to prepare: --speech DIR, --noise DIR and --cache DIR, or --data DIR "
                "with the recipe of a corpus"
            )
    _report(caches)


def _report(caches: "list[CorpusCache]") -> None:
    """Say which recordings there are, and which are left out."""
    for cache in caches:
        index = cache.index()
        hours = index.bytes / 2 / cache.sample_rate / 3600
        text = f"{cache.path}: {len(index.lengths)} recordings, {hours:.1f} hours"
        if index.skipped:
            text += f"; {len(index.skipped)} left out, listed in {cache.unreadable}"
        say(text)

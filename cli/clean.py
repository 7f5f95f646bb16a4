"""qse clean: enhance all recordings of a NeMo manifest, resumable and in shards."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from qse.errors import UsageError

from .options import FileProcessing, as_options, check_talker, grouped
from .streams import say

if TYPE_CHECKING:
    from qse.corpus_cleaning.journal import Journal
    from qse.corpus_cleaning.manifest import Recording
    from qse.runtime.bands import BandModels
    from qse.runtime.batch import Outcome


@dataclass(frozen=True)
class Places:
    """The folder and the manifest of enhanced files, and the part of the work."""

    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Folder of the enhanced files.")
    ]
    out: Annotated[
        Path,
        typer.Option("--manifest", metavar="OUT", help="Manifest of the enhanced files to write."),
    ]
    shard: Annotated[
        str | None,
        typer.Option(metavar="I/N", help="Only part I of N; all may run at the same time."),
    ] = None
    root: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder whose tree is repeated in -o. [default: that of MANIFEST]"
        ),
    ] = None
    format_: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="SUFFIX", help="Write wav, flac, ... [default: as the source]"
        ),
    ] = None


@grouped
def clean(
    *,
    manifest: Annotated[
        Path,
        typer.Argument(metavar="MANIFEST", help="NeMo manifest: JSON Lines with audio_filepath."),
    ],
    places: Places,
    processing: FileProcessing,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace files in DIR that other runs have made.")
    ] = False,
) -> None:
    """Enhance all recordings of a manifest; a second run continues where the first one ended.

    Each line of MANIFEST becomes a line of OUT with all its keys, the path of the enhanced file,
    and the key qse with state, error, model and settings. Finished lines are skipped, failed ones
    are tried again. Shard 2/8 writes OUT.2-of-8.jsonl.
    """
    from qse.audio.file_mode import Sources
    from qse.corpus_cleaning.clean import check_free
    from qse.corpus_cleaning.clean import shard as select
    from qse.corpus_cleaning.journal import Journal, sharded
    from qse.corpus_cleaning.manifest import recordings
    from qse.corpus_cleaning.settings import Settings

    with Sources([manifest]) as source:
        found = recordings(manifest, places.output, places.root, places.format_)
    chosen, number, of = select(found, places.shard)
    path = sharded(places.out, number, of)
    if path.resolve() == manifest.resolve():
        raise UsageError(f"--manifest {path} is the input itself: name another output")
    if of > 1 and path.is_symlink():  # nobody has named it: it may have come in an archive
        raise UsageError(f"{path} is a link, in place of the manifest of a shard: remove it")
    if not path.exists() and not overwrite:
        check_free(chosen)
    check_talker(processing.talker, (recording.target for recording in chosen))
    models = processing.models()
    settings = Settings.of(models, processing.strength, places.format_)
    with Journal(path, settings, source, overwrite) as journal:
        _run(chosen, models, journal, processing.at_once(models))


def _run(chosen: "list[Recording]", models: "BandModels", journal: "Journal", threads: int) -> None:
    """Enhance the recordings that are not finished and report them; a stop signal abandons
    unfinished files."""
    from qse.audio.atomic_write import discard_unfinished
    from qse.corpus_cleaning.clean import clean as enhance
    from qse.stop_signals import collected

    from .bars import progress_bar

    def give_up(number: int) -> None:
        discard_unfinished()
        os._exit(128 + number)  # a regular exit would abort while threads are inside the model

    begin = perf_counter()
    left = journal.pending(chosen)
    outcomes = []
    with collected(give_up) as signals, progress_bar() as advance:
        for outcome in enhance(left, models, journal, threads, lambda: bool(signals)):
            outcomes.append(outcome)
            if outcome.error:
                say(f"qse: {as_options(str(outcome.error))}")
            elif outcome.damage:
                say(f"qse: warning: {outcome.damage}")
            if sys.stderr.isatty():
                advance("recordings", len(outcomes), len(left))
    say(_summary(journal, outcomes, len(chosen) - len(left), perf_counter() - begin, threads))
    if signals:
        say(f"qse: interrupted, {len(left) - len(outcomes)} recordings left: run it again")
        raise typer.Exit(128 + signals[0])
    if any(outcome.error for outcome in outcomes):
        raise typer.Exit(1)


def _summary(
    journal: "Journal", outcomes: "list[Outcome]", before: int, spent: float, threads: int
) -> str:
    audio = sum(outcome.seconds for outcome in outcomes)
    failed = sum(bool(outcome.error) for outcome in outcomes)
    enhanced = len(outcomes) - failed
    said = f"{journal.path}: {enhanced} enhanced, {failed} failed, {before} finished before"
    if audio:
        speed = audio / spent / threads
        said += (
            f"; {audio / 3600:.2f} h of audio in {spent:.0f} s: {speed:.1f} h per hour and thread"
        )
    return said

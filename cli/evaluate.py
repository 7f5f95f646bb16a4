"""qse evaluate: score a model, utterance by utterance, in the paper's metrics."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qse.errors import QseError, UsageError

from . import bars
from .options import as_options

if TYPE_CHECKING:
    from qse.data.datasets import Pair, Stages
    from qse.evaluate.systems import System


def evaluate(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="Name of a model, .onnx file, folder of a model or run; noisy; folder of enhanced files.",
        ),
    ],
    noisy: Annotated[Path | None, typer.Option(metavar="DIR", help="Noisy recordings.")] = None,
    clean: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Clean files of the same names.")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="Test set of a corpus, not --noisy: voicebank or dns3.")
    ] = None,
    data: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of that corpus.")] = None,
    metrics: Annotated[
        str, typer.Option(help="Comma-separated names; all: those that the data allow.")
    ] = "all",
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for the results; else runs/evaluate/MODEL."),
    ] = None,
    sample_rate: Annotated[
        int | None,
        typer.Option(
            min=16000,
            metavar="HZ",
            help="Rate of reading and of SI-SDR; else that of the files, or 16000.",
        ),
    ] = None,
    plot: Annotated[
        bool,
        typer.Option(
            "--plot", help="Draw histograms and spectrograms, also of the worst utterances."
        ),
    ] = False,
    groups: Annotated[
        Path | None,
        typer.Option(
            metavar="TSV", help="Tab-separated table: utterance, then columns to group by."
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column of that table; may be given several times."),
    ] = None,
    lead_in: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Number of recordings that the model processes before each one.",
        ),
    ] = 0,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Utterances at a time; else one per core.")
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads of the model.")] = 1,
) -> None:
    """Score a model against clean references, or with DNSMOS if there are none.

    Writes a CSV with a row per utterance, a summary as JSON and Markdown with 95 % intervals, the noisy signals and
    the gain over them. An interrupted run continues where it stopped. The exit status is 1 if an utterance failed.
    """
    from qse.machine import cores

    if (groups is None) != (not by):
        raise UsageError("--groups FILE and --by COLUMN go together")
    source = _Source(noisy, clean, dataset, data, sample_rate, lead_in)
    options = {"metrics": metrics, "sample_rate": sample_rate, "jobs": jobs or cores()}
    system = _system(model, threads, lead_in)
    folder = out or Path("runs", "evaluate", system.name)
    try:
        _evaluate(system, source, folder, options, (groups, by or []), plot)
    except QseError as error:
        raise type(error)(as_options(str(error), "sample_rate")) from error


def _system(model: str, threads: int, lead_in: int) -> "System":
    from qse.evaluate.systems import find_system

    system = find_system(model, threads)
    if lead_in and not system.computes:
        raise UsageError(f"--lead-in needs a model that processes what comes before, not {model}")
    return system


def _evaluate(
    system: "System",
    source: "_Source",
    out: Path,
    options: dict[str, Any],
    groups: tuple[Path | None, list[str]],
    plot: bool,
) -> None:
    """Evaluate, write the tables, print them, and end with the exit status."""
    from qse.evaluate.evaluation import evaluate, read_groups
    from qse.extras import need

    if plot:
        need("matplotlib")
    table, columns = groups
    with bars.progress_bar() as progress:
        pairs = source.pairs(progress)
        of_columns = read_groups(table, columns, pairs) if table else {}
        advance = partial(progress, system.name)
        result = evaluate(
            system, pairs, out, settings=source.settings(), progress=advance, **options
        )
        text = result.write(of_columns)
        if plot:
            result.plot()
    typer.echo(text)
    typer.echo(f"written to {result.folder}", err=True)
    for name, error in result.failed.items():
        typer.echo(f"qse: {name}: {as_options(error, 'sample_rate')}", err=True)
    raise typer.Exit(bool(result.failed))


@dataclass(frozen=True)
class _Source:
    """The options that name the utterances: folders, or a corpus and its folder, and how they are read."""

    noisy: Path | None
    clean: Path | None
    dataset: str | None
    data: Path | None
    sample_rate: int | None
    lead_in: int

    def pairs(self, progress: "Stages") -> "list[Pair]":
        """Return the utterances, sorted by name. UsageError for options that are missing or exclude each other."""
        from qse.data.datasets import with_lead_in

        return with_lead_in(self._pairs(progress), self.lead_in)

    def _pairs(self, progress: "Stages") -> "list[Pair]":
        from qse.data.datasets import pair_folders
        from qse.evaluate.corpora import test_pairs

        if self.dataset is None:
            if self.noisy is None or self.data:
                raise UsageError(
                    "give the test data: --noisy DIR with or without --clean DIR, or --dataset and --data"
                )
            return pair_folders(self.noisy, self.clean)
        if self.noisy or self.clean:
            raise UsageError(f"--dataset {self.dataset} takes no --noisy and no --clean")
        if self.data is None:
            raise UsageError(f"--dataset {self.dataset} needs --data DIR, the corpus' folder")
        return test_pairs(self.dataset, self.data, self.sample_rate, partial(progress, "to 16 kHz"))

    def settings(self) -> dict[str, str]:
        """Return the options that are set, as text."""
        folders = {
            "noisy": self.noisy,
            "clean": self.clean,
            "dataset": self.dataset,
            "data": self.data,
        }
        return {key: str(value) for key, value in folders.items() if value}

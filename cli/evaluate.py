"""qse evaluate: how good a model is, utterance by utterance, in the paper's metrics."""

from pathlib import Path
from typing import Annotated

import typer

from . import bars


def evaluate(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="A model's name, .onnx file or checkpoint folder; noisy; a folder of enhanced files."
        ),
    ],
    noisy: Annotated[Path | None, typer.Option(metavar="DIR", help="Noisy recordings.")] = None,
    clean: Annotated[Path | None, typer.Option(metavar="DIR", help="Clean files of the same names.")] = None,
    dataset: Annotated[str | None, typer.Option(help="Test set of a corpus instead: voicebank or dns3.")] = None,
    data: Annotated[Path | None, typer.Option(metavar="DIR", help="Where that corpus lies.")] = None,
    metrics: Annotated[str, typer.Option(help="Comma-separated names; all: those that the data allow.")] = "all",
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for the results; else runs/evaluate/MODEL.")
    ] = None,
    plot: Annotated[
        bool, typer.Option("--plot", help="Draw histograms and spectrograms, also of the worst utterances.")
    ] = False,
    groups: Annotated[
        Path | None, typer.Option(metavar="TSV", help="Table with tabs: utterance, then columns to group by.")
    ] = None,
    by: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of that table.")] = None,
    lead_in: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Others that the model hears just before each utterance, in one stream."),
    ] = 0,
    jobs: Annotated[int | None, typer.Option(min=1, help="Utterances at a time; else one per core.")] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads of the model.")] = 1,
) -> None:
    """Score a model against clean references, or without any by DNSMOS.

    Writes a CSV with a row per utterance, a summary as JSON and Markdown with 95 % intervals, the noisy signals and
    the gain over them. An interrupted run goes on where it stopped. The exit status is 1 if an utterance failed.
    """
    from qse.evaluate.study import Source, study

    source = Source(noisy, clean, dataset, data)
    with bars.progress() as progress:
        outcome = study(
            model,
            source,
            metrics,
            out,
            jobs=jobs,
            threads=threads,
            groups=groups,
            by=by,
            plot=plot,
            lead_in=lead_in,
            progress=progress,
        )
    typer.echo(outcome.text)
    typer.echo(f"written to {outcome.folder}", err=True)
    for name, error in outcome.failed.items():
        typer.echo(f"qse: {name}: {error}", err=True)
    raise typer.Exit(bool(outcome.failed))

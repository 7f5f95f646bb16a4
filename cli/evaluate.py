"""qse evaluate: score a model, utterance by utterance, in the paper's metrics."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import bars

if TYPE_CHECKING:
    from qse.evaluate.evaluation import EvaluationResult


def evaluate(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="Name of a model, .onnx file, folder of a model or run; noisy; folder of enhanced files.",
        ),
    ],
    noisy: Annotated[Path | None, typer.Option(metavar="DIR", help="Noisy recordings.")] = None,
    clean: Annotated[Path | None, typer.Option(metavar="DIR", help="Clean files of the same names.")] = None,
    dataset: Annotated[str | None, typer.Option(help="Test set of a corpus, not --noisy: voicebank or dns3.")] = None,
    data: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of that corpus.")] = None,
    metrics: Annotated[str, typer.Option(help="Comma-separated names; all: those that the data allow.")] = "all",
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for the results; else runs/evaluate/MODEL.")
    ] = None,
    sample_rate: Annotated[
        int | None,
        typer.Option(min=16000, metavar="HZ", help="Rate of reading and of SI-SDR; else that of the files, or 16000."),
    ] = None,
    plot: Annotated[
        bool, typer.Option("--plot", help="Draw histograms and spectrograms, also of the worst utterances.")
    ] = False,
    groups: Annotated[
        Path | None, typer.Option(metavar="TSV", help="Tab-separated table: utterance, then columns to group by.")
    ] = None,
    by: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Column of that table; may be given several times.")
    ] = None,
    lead_in: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Number of recordings that the model processes before each one."),
    ] = 0,
    jobs: Annotated[int | None, typer.Option(min=1, help="Utterances at a time; else one per core.")] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads of the model.")] = 1,
) -> None:
    """Score a model against clean references, or with DNSMOS if there are none.

    Writes a CSV with a row per utterance, a summary as JSON and Markdown with 95 % intervals, the noisy signals and
    the gain over them. An interrupted run continues where it stopped. The exit status is 1 if an utterance failed.
    """
    from qse.evaluate.evaluation import EvaluationData, EvaluationRequest, run_evaluation

    request = EvaluationRequest(
        model,
        EvaluationData(noisy, clean, dataset, data),
        metrics=metrics,
        out=out,
        sample_rate=sample_rate,
        jobs=jobs,
        threads=threads,
        groups=groups,
        by=tuple(by or ()),
        plot=plot,
        lead_in=lead_in,
    )
    with bars.progress() as progress:
        result = run_evaluation(request, progress)
    _report(result)
    raise typer.Exit(bool(result.failed))


def _report(result: "EvaluationResult") -> None:
    typer.echo(result.text)
    typer.echo(f"written to {result.folder}", err=True)
    for name, error in result.failed.items():
        typer.echo(f"qse: {name}: {error}", err=True)

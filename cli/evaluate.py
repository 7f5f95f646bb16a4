"""qse evaluate: score a model, utterance by utterance, in the paper's metrics."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qse.errors import QseError, UsageError

from . import bars
from .options import as_options, grouped

if TYPE_CHECKING:
    from qse.data.datasets import Pair
    from qse.evaluate.evaluation import Evaluation, Groups, Timing

RESULTS = Path("runs", "evaluate")  # folder of all results without --out


@dataclass(frozen=True)
class TestData:
    """The recordings to score on: two folders, or the test set of a corpus."""

    noisy: Annotated[Path | None, typer.Option(metavar="DIR", help="Noisy recordings.")] = None
    clean: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Clean files of the same names.")
    ] = None
    dataset: Annotated[
        str | None, typer.Option(help="Test set of a corpus, not --noisy: voicebank or dns3.")
    ] = None
    data: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of that corpus.")] = None


@dataclass(frozen=True)
class Scoring:
    """The metrics, how signals are read and aligned, and the folder of results."""

    metrics: Annotated[
        str,
        typer.Option(
            help="Comma-separated names (qse info metrics); all: those that the data allow."
        ),
    ] = "all"
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for the results; else runs/evaluate/MODEL."),
    ] = None
    sample_rate: Annotated[
        int | None,
        typer.Option(
            min=8000,
            metavar="HZ",
            help="Rate of reading and of SI-SDR; else that of the files, or 16000.",
        ),
    ] = None
    align: Annotated[
        bool, typer.Option("--align", help="Compensate the constant delay of the system.")
    ] = False
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse files of other lengths; else up to 32 ms go.")
    ] = False

    @property
    def timing(self) -> "Timing":
        """Return how signals of different lengths are treated. UsageError for two ways."""
        if self.align and self.strict:
            raise UsageError("--align and --strict exclude each other: leave one out")
        if self.align:
            return "aligned"
        return "strict" if self.strict else "trimmed"


@dataclass(frozen=True)
class Presentation:
    """Pictures, tables by group, and the comparison with another system."""

    plot: Annotated[
        bool,
        typer.Option(
            "--plot", help="Draw histograms and spectrograms, also of the worst utterances."
        ),
    ] = False
    groups: Annotated[
        Path | None,
        typer.Option(
            metavar="TSV",
            help="Tab-separated table: utterance, then columns to group by; or VoiceBank's log.",
        ),
    ] = None
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column of that table; may be given several times."),
    ] = None
    against: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Also print paired differences from this system, or from the results in a folder.",
        ),
    ] = None


@dataclass(frozen=True)
class Computing:
    """Set how the model is run."""

    lead_in: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Number of recordings that the model processes before each one.",
        ),
    ] = 0
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Utterances at a time; else one per core.")
    ] = None
    threads: Annotated[int, typer.Option(min=1, help="Threads of the model.")] = 1
    device: Annotated[
        str, typer.Option(help="Where PyTorch runs the network of a run: cpu, cuda, cuda:N, mps.")
    ] = "cpu"


@grouped
def evaluate(
    *,
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="Name of a model, .onnx file, folder of a model or run; noisy; folder of files.",
        ),
    ],
    test_data: TestData,
    scoring: Scoring,
    presentation: Presentation,
    computing: Computing,
) -> None:
    """Score a model against clean references, or with DNSMOS if there are none.

    Writes a CSV with a row per utterance, a summary as JSON and Markdown with 95 % intervals, the
    noisy signals and the gain over them. An interrupted run continues where it stopped, and one
    that is complete is only shown. The exit status is 1 if an utterance failed. Where MODEL and
    --against both name folders of results, these are compared, and nothing is scored.
    """
    from qse.evaluate.differences import compared
    from qse.evaluate.store import has_results

    against = presentation.against
    if against and has_results(model) and has_results(against):
        typer.echo(compared(model, against))
        return
    if (presentation.groups is None) != (not presentation.by):
        raise UsageError("--groups FILE and --by COLUMN go together")
    timing = scoring.timing
    from qse.evaluate.systems import find_system

    system = find_system(model, computing.threads, computing.device)
    out = scoring.out or RESULTS / system.name
    other = None
    if against and not has_results(against):
        other = find_system(against, computing.threads)
        place = (scoring.out or RESULTS) / other.name
        against = str(out / other.name if place == out else place)
    for each, found in ((model, system), (presentation.against, other)):
        if computing.lead_in and found and not found.computes:
            raise UsageError(
                f"--lead-in needs a model that processes what comes before, not {each}"
            )
    pairs = _pairs(test_data, computing.lead_in)
    if presentation.plot:
        from qse.extras import need

        need("matplotlib")

    options: dict[str, Any] = {
        "metrics": scoring.metrics,
        "sample_rate": scoring.sample_rate or _rate_of(test_data.dataset),
        "timing": timing,
        "jobs": computing.jobs,
    }
    try:
        of_columns = _groups(presentation.groups, presentation.by or [], pairs)
        result = _evaluated(system, pairs, out, options)
        if against and other:
            options["sample_rate"] = result.sample_rate
            _evaluated(other, pairs, Path(against), options).write(of_columns)
    except QseError as error:
        raise type(error)(as_options(str(error))) from error
    _show(result, of_columns, presentation.plot, against)


def _pairs(test_data: TestData, lead_in: int) -> "list[Pair]":
    """Return the utterances, sorted by name. UsageError for options that do not go together."""
    from qse.data.datasets import pair_folders, with_lead_in
    from qse.evaluate.corpora import test_pairs

    dataset = test_data.dataset
    if dataset is None:
        if test_data.noisy is None or test_data.data:
            folders = "--noisy DIR with or without --clean DIR, or --dataset and --data"
            raise UsageError(f"give the test data: {folders}")
        return with_lead_in(pair_folders(test_data.noisy, test_data.clean), lead_in)

    if test_data.noisy or test_data.clean:
        raise UsageError(f"--dataset {dataset} takes no --noisy and no --clean")
    if test_data.data is None:
        raise UsageError(f"--dataset {dataset} needs --data DIR, the corpus' folder")
    return with_lead_in(test_pairs(dataset, test_data.data), lead_in)


def _rate_of(dataset: str | None) -> int | None:
    """Return the rate at which published results of the corpora are computed."""
    from qse.data.datasets import SAMPLE_RATE

    return SAMPLE_RATE if dataset else None


def _groups(table: Path | None, columns: list[str], pairs: "list[Pair]") -> "Groups":
    from qse.evaluate.evaluation import read_groups

    return read_groups(table, columns, pairs) if table else {}


def _evaluated(
    system: Any, pairs: "list[Pair]", out: Path, options: Mapping[str, Any]
) -> "Evaluation":
    """Evaluate under a progress bar."""
    from qse.evaluate.evaluation import evaluate

    with bars.progress_bar() as progress:
        advance = partial(progress, system.name)
        return evaluate(system, pairs, out, progress=advance, **options)


def _show(result: "Evaluation", groups: "Groups", plot: bool, against: str | None) -> None:
    """Write and print the tables and the failures, and end with the exit status."""
    from qse.evaluate.differences import compared

    text = result.write(groups)
    if plot:
        result.plot()
    typer.echo(text)
    if against and result.folder:
        typer.echo(compared(result.folder, against))
    if result.saved:
        typer.echo(f"computed before: delete {result.folder} to do it again", err=True)
    typer.echo(f"written to {result.folder}", err=True)
    for name, error in result.failed.items():
        typer.echo(f"qse: {name}: {as_options(error)}", err=True)
    raise typer.Exit(bool(result.failed))

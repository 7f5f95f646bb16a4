"""qse evaluate: score a model, utterance by utterance, in the paper's metrics."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qse.errors import QseError, UsageError

from . import bars
from .completion import models_that_begin
from .evaluate_options import Computing, Presentation, Scoring, TestData
from .found_folder import RUNS, found_folder
from .options import as_options, grouped
from .streams import say, tell

if TYPE_CHECKING:
    from qse.audio.file_mode import Sources
    from qse.data.datasets import Pair
    from qse.evaluate.evaluation import Evaluation, Groups
    from qse.evaluate.published import PublishedTable
    from qse.evaluate.system import System

RESULTS = RUNS / "evaluate"  # folder of all results without --out


@grouped
def evaluate(
    *,
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="Name of a model, .onnx file, folder of a model or run; noisy; folder of files.",
            autocompletion=models_that_begin,
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
    from qse.audio.file_mode import Sources
    from qse.data.datasets import SAMPLE_RATE, TEST_SET_SIZES
    from qse.evaluate.differences import compared
    from qse.evaluate.store import has_results

    against = presentation.against
    if against and has_results(model) and has_results(against):
        tell(compared(model, against))
        return
    if (presentation.groups is None) != (not presentation.by):
        raise UsageError("--groups FILE and --by COLUMN go together")
    system = _system(model, computing)
    out = scoring.out or found_folder(RESULTS / system.name)
    other = None
    if against and not has_results(against):
        other = _system(against, replace(computing, device="cpu", talkers=None))
        against = str(_folder_of_other(other.name, out, scoring.out))
    pairs = _pairs(test_data, computing.lead_in)
    dataset = test_data.dataset
    published = _prepared(presentation, dataset)
    source = Sources([presentation.groups] if presentation.groups else [])
    options: dict[str, Any] = {
        "metrics": scoring.metrics,
        "sample_rate": scoring.sample_rate or (SAMPLE_RATE if dataset else None),
        "timing": scoring.timing,
        "jobs": computing.jobs,
    }
    try:
        of_columns = _groups(presentation, pairs, source)
        result = _evaluated(system, pairs, out, options)
        result = result.within(TEST_SET_SIZES.get(dataset or "", 0))
        if against and other:
            options["sample_rate"] = result.sample_rate
            _evaluated(other, pairs, Path(against), options).write(of_columns, source)
    except QseError as error:
        raise type(error)(as_options(str(error))) from error
    _show(result, of_columns, source, presentation.plot, against, published)


def _folder_of_other(name: str, out: Path, named: Path | None) -> Path:
    """Return the folder for the results of the system to compare with, beside or below `out`.

    named: by --out. Raises QseError as `found_folder`.
    """
    place = (named or RESULTS) / name
    return found_folder(out / name if place == out else place, named or RUNS)


def _groups(presentation: Presentation, pairs: "list[Pair]", source: "Sources") -> "Groups":
    """Return the groups of utterances by each column of the table, which counts in `source`."""
    from qse.evaluate.evaluation import read_groups

    table = presentation.groups
    with source:
        return read_groups(table, presentation.by or [], pairs) if table else {}


def _prepared(presentation: Presentation, dataset: str | None) -> "PublishedTable | None":
    """Check before anything is scored what the presentation needs; return the published results, if
    they are wanted."""
    from qse.evaluate.published import find_published
    from qse.extras import need

    if presentation.plot:
        need("matplotlib")
    return find_published(dataset) if presentation.published else None


def _system(name: str, computing: Computing) -> "System":
    """Return the system of a name or path. UsageError for one that takes no lead-in."""
    from qse.evaluate.computing_systems import find_system
    from qse.evaluate.told_system import told

    system = find_system(name, computing.threads, computing.device, computing.trust)
    if computing.lead_in and not system.computes:
        raise UsageError(f"--lead-in needs a model that processes what comes before, not {name}")
    return told(system, computing.talkers) if computing.talkers else system


def _pairs(test_data: TestData, lead_in: int) -> "list[Pair]":
    """Return the utterances, sorted by name. UsageError for options that do not go together."""
    from qse.data.datasets import pair_folders, test_pairs, with_lead_in

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


def _evaluated(
    system: Any, pairs: "list[Pair]", out: Path, options: Mapping[str, Any]
) -> "Evaluation":
    """Evaluate under a progress bar."""
    from qse.evaluate.evaluation import evaluate

    with bars.progress_bar() as progress:
        advance = partial(progress, system.name)
        return evaluate(system, pairs, out, progress=advance, **options)


def _show(
    result: "Evaluation",
    groups: "Groups",
    source: "Sources",
    plot: bool,
    against: str | None,
    published: "PublishedTable | None",
) -> None:
    """Write and print the tables and the failures, and end with the exit status."""
    from qse.evaluate.differences import compared
    from qse.evaluate.published import beside_published

    text = result.write(groups, source)
    if plot:
        result.plot()
    tell(text)
    if published:
        tell(beside_published(result.findings, published))
    if against and result.folder:
        tell(compared(result.folder, against))
    if result.saved:
        say(f"computed before: delete {result.folder} to do it again")
    say(f"written to {result.folder}")
    for name, damage in result.damaged.items():
        say(f"qse: warning: {name}: {damage}")
    for name, error in result.failed.items():
        say(f"qse: {name}: {as_options(error)}")
    raise typer.Exit(bool(result.failed))

"""Evaluate a system on pairs of files: scores, tables with intervals, and plots, in memory or in a folder."""

import json
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..audio.atomic_write import write_text
from ..data.datasets import SAMPLE_RATE, Pair, Progress
from ..errors import QseError, UsageError
from ..extras import need
from ..machine import cores, processor
from . import report
from .metrics import METRICS, resolve
from .reading import common_rate
from .runner import score_pairs
from .store import Row
from .systems import Process, System, as_system

Groups = Mapping[str, Mapping[str, str]]  # {column: {utterance: group}}


@dataclass(frozen=True)
class Evaluation:
    """The scores of a system. rows: one per utterance; findings: means, intervals, gains, settings, as plain data.

    folder: where scores.csv is, None for an evaluation in memory.
    """

    system: System
    pairs: list[Pair]
    metrics: list[str]
    sample_rate: int
    rows: list[Row]
    findings: dict[str, Any]
    folder: Path | None = None

    @property
    def failed(self) -> dict[str, str]:
        """Return {utterance: error} of those without scores."""
        return self.findings["failed"]

    @property
    def means(self) -> dict[str, float]:
        """Return {metric: mean over the utterances} of the enhanced signals."""
        return {name: found["mean"] for name, found in self.findings["enhanced"].items()}

    def text(self, groups: Groups | None = None) -> str:
        """Return Markdown tables: noisy, enhanced and gain, and one table by each column of `groups`."""
        text = report.table(self.findings)
        for column, group_of in (groups or {}).items():
            text += "\n" + report.group_table(self.rows, dict(group_of), column)
        return text

    def write(self, groups: Groups | None = None) -> str:
        """Write summary.md and summary.json to the folder; return the text of the former.

        Raises QseError for an evaluation in memory.
        """
        if self.folder is None:
            raise QseError("this evaluation is in memory: give evaluate a folder as out")
        text = self.text(groups)
        results = dict(self.findings)
        for column, group_of in (groups or {}).items():
            parts = report.grouped(self.rows, dict(group_of))
            of_groups = {
                group: report.findings(self.system.name, part) for group, part in parts.items()
            }
            results.setdefault("groups", {})[column] = of_groups
        write_text(self.folder / "summary.md", text)
        write_text(self.folder / "summary.json", json.dumps(results, indent=2) + "\n")
        return text

    def plot(self) -> None:
        """Draw histograms and spectrograms into the folder. Raises QseError for an evaluation in memory."""
        from .report_plots import plot_report

        if self.folder is None:
            raise QseError("this evaluation is in memory: give evaluate a folder as out")
        plot_report(self.folder, self.system, self.pairs, self.rows, self.metrics, self.sample_rate)


def evaluate(
    system: "System | str | Path | Process | Any",
    pairs: Iterable[Pair],
    out: str | Path | None = None,
    *,
    metrics: str | Iterable[str] = "all",
    sample_rate: int | None = None,
    jobs: int | None = 0,
    settings: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Score a system on pairs of noisy and clean files, each utterance enhanced once.

    system: a name or path as for `find_system`; a network, such as one that is being trained; or a function of noisy
    (samples,) and sample rate in Hz that returns enhanced (samples,).
    pairs: see `pair_folders` and `with_lead_in`. out: folder; rows that it holds of an interrupted evaluation are not
    computed again; None: in memory. metrics: names, comma-separated or as a list; "all" that the pairs allow.
    sample_rate: rate of reading and of SI-SDR; None: that of the files if it is the same for all, above 16 kHz, and the
    system's own, else 16 kHz. jobs: processes, 0: this one, None: one per core. settings: further words on what is
    evaluated, which tell evaluations in one folder apart. progress: called with (utterances done, all).
    Raises QseError if nothing can be evaluated; a failure with an utterance is in `failed`.
    """
    system, pairs = as_system(system), list(pairs)
    if not pairs:
        raise QseError("no pairs to evaluate: give at least one")
    lead_in = max(len(pair.lead_in) for pair in pairs)
    if lead_in and not system.computes:
        raise UsageError(
            f"lead_in needs a model that processes what comes before, not {system.name}"
        )
    rate = sample_rate or own_rate(system, pairs)
    system = system.at(rate)
    names = choose_metrics(metrics, any(pair.clean for pair in pairs), rate)
    described = {**(settings or {}), **_described(system, lead_in)}
    training = system.training()  # read now: the run may continue during the evaluation
    with ExitStack() as stack:
        folder = Path(out) if out else Path(stack.enter_context(TemporaryDirectory()))
        scored: Any = {"metrics": names, "sample_rate": rate, "jobs": jobs, "progress": progress}
        rows = score_pairs(system, pairs, folder, settings=described, **scored)
    shown = {
        **described,
        **training,
        "jobs": cores() if jobs is None else jobs,
        "machine": processor(),
    }
    shown |= {"sample_rate": rate} if rate != SAMPLE_RATE else {}
    found = report.findings(system.name, rows, shown)
    return Evaluation(system, pairs, names, rate, rows, found, Path(out) if out else None)


def choose_metrics(
    metrics: str | Iterable[str], has_clean: bool, sample_rate: int = SAMPLE_RATE
) -> list[str]:
    """Return the metrics of a list of names, comma-separated or not, or of "all".

    Raises UsageError for one that is unknown or not possible, MissingExtra where its package is missing.
    """
    referenced = [name for name, metric in METRICS.items() if has_clean or not metric.needs_clean]
    possible = [name for name in referenced if METRICS[name].least_rate <= sample_rate]
    names = _resolved(metrics, possible)
    for name in names:
        if name not in referenced:
            raise UsageError(
                f"{name} needs the clean files: give them, or choose from {', '.join(possible)}"
            )
        if name not in possible:
            raise UsageError(
                f"{name} needs files at {METRICS[name].least_rate} Hz or more, not {sample_rate} Hz"
            )
    for package in {METRICS[name].package for name in names} - {""}:
        need(package)
    return names


def own_rate(system: System, pairs: list[Pair]) -> int:
    """Return the rate of all files if it is above 16 kHz and the system supports it, else 16 kHz."""
    rate = common_rate(pairs)
    return rate if rate and rate > SAMPLE_RATE and system.supports(rate) else SAMPLE_RATE


def read_groups(
    table: Path, columns: Iterable[str], pairs: list[Pair]
) -> dict[str, dict[str, str]]:
    """Return {column: {utterance: group}} of a tab-separated table whose first column names the utterance.

    Raises QseError for a table that cannot be read, or that names none of the utterances.
    """
    groups = {column: report.read_groups(table, column) for column in columns}
    named = {utterance for group_of in groups.values() for utterance in group_of}
    if not {pair.name for pair in pairs} & named:
        raise QseError(
            f"{table} names none of the utterances: they are called {pairs[0].name} and so on"
        )
    return groups


def _resolved(metrics: str | Iterable[str], possible: list[str]) -> list[str]:
    if metrics == "all":
        return [name for name in possible if not METRICS[name].on_request]
    names: Iterable[str] = metrics
    if isinstance(metrics, str):
        names = [name for name in metrics.split(",") if name.strip() or "," not in metrics]
    try:
        return resolve(names)
    except ValueError as reason:
        raise UsageError(str(reason)) from reason


def _described(system: System, lead_in: int) -> dict[str, Any]:
    """Return the settings of a system in which this evaluation may differ from another one in the same folder."""
    place = str(system.path) if system.path != Path() else system.name
    settings: dict[str, Any] = {"model": place, "threads": system.threads}
    return settings | ({"lead_in": lead_in} if lead_in else {})

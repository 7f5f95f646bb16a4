"""Evaluate a system on pairs of files: scores, tables, and plots, in memory or in a folder."""

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ..audio.atomic_write import write_text
from ..audio.file_mode import Source
from ..audio.private_folder import private_folder
from ..data.datasets import Pair, Progress
from ..errors import QseError, UsageError
from ..machine import cores, processor
from . import report, tables
from .choices import choose_metrics, need_packages, own_rate
from .computing_systems import Process, as_system
from .metric_names import Named
from .runner import Scorer, score_pairs, stamps_of
from .store import Row, Store, by_utterance, claimed
from .system import System

Timing = Literal["trimmed", "strict", "aligned"]
Groups = Mapping[str, Mapping[str, str]]  # {column: {utterance: group}}


@dataclass(frozen=True)
class Evaluation:
    """The scores of a system.

    rows: one per utterance. findings: means, intervals, gains, settings, as plain data. folder:
    where scores.csv is, None for an evaluation in memory. saved: nothing had to be computed.
    """

    system: System
    pairs: list[Pair]
    metrics: list[str]
    sample_rate: int
    rows: list[Row]
    findings: dict[str, Any]
    folder: Path | None = None
    saved: bool = False

    @property
    def failed(self) -> dict[str, str]:
        """Return {utterance: error} of those without scores, or without some."""
        return self.findings["failed"]

    @property
    def damaged(self) -> dict[str, str]:
        """Return {utterance: what is damaged} of those whose files were read all the same."""
        return self.findings.get("damaged", {})

    @property
    def means(self) -> dict[str, float]:
        """Return {metric: mean over the utterances} of the enhanced signals."""
        return {name: found["mean"] for name, found in self.findings["enhanced"].items()}

    def within(self, whole: int) -> "Evaluation":
        """Return the same, of a test set of `whole` utterances, of which the tables tell."""
        return replace(self, findings={**self.findings, "whole": max(whole, len(self.pairs))})

    def text(self, groups: Groups | None = None) -> str:
        """Return Markdown tables: noisy, enhanced and gain, and one per metric for each column."""
        text = tables.table(self.findings)
        for column, group_of in (groups or {}).items():
            text += "\n" + tables.group_tables(self.rows, dict(group_of), column)
        return text

    def write(self, groups: Groups | None = None, source: Source | None = None) -> str:
        """Write summary.md and summary.json to the folder; return the text of the former. source:
        the file of the groups, which they are no more readable than.

        Raises QseError for an evaluation in memory.
        """
        folder = self._folder()
        results = dict(self.findings)
        if groups:
            results["groups"] = {}
            for column, group_of in groups.items():
                results["groups"][column] = self._of_groups(dict(group_of))
        text = self.text(groups)
        write_text(folder / "summary.md", text, source=source)
        text_of_all = json.dumps(results, indent=2) + "\n"
        write_text(folder / "summary.json", text_of_all, source=source)
        return text

    def plot(self) -> None:
        """Draw histograms and spectrograms into the folder. QseError for one in memory."""
        from .report_plots import plot_report

        folder = self._folder()
        plot_report(folder, self.system, self.pairs, self.rows, self.metrics, self.sample_rate)

    def _folder(self) -> Path:
        if self.folder is None:
            raise QseError("this evaluation is in memory: give evaluate a folder as out")
        return self.folder

    def _of_groups(self, group_of: dict[str, str]) -> dict[str, dict[str, Any]]:
        """Return {group: findings of its utterances}."""
        found = {}
        for group, rows in report.grouped(self.rows, group_of).items():
            found[group] = report.findings(self.system.name, rows)
        return found


def evaluate(
    system: "System | str | Path | Process | Any",
    pairs: Iterable[Pair],
    out: str | Path | None = None,
    *,
    metrics: str | Iterable[Named] = "all",
    sample_rate: int | None = None,
    timing: Timing = "trimmed",
    jobs: int | None = 0,
    progress: Progress | None = None,
) -> Evaluation:
    """Score a system on pairs of noisy and clean files, each utterance enhanced once.

    system: a name or path as for `find_system`; a network, such as one that is being trained; or a
    function of noisy (samples,) and sample rate in Hz that returns enhanced (samples,).
    pairs: see `pair_folders` and `with_lead_in`. out: folder; what it holds of this evaluation is
    not computed again; None: in memory. metrics: names, comma-separated or as a list; "all" that
    the pairs allow. sample_rate: see `own_rate` for None. timing: of signals whose lengths differ,
    up to 32 ms are "trimmed"; "strict" refuses them; "aligned" also removes the constant delay of
    the system. jobs: processes, 0: this one, None: one per core. progress: called with (utterances
    done, all).
    Raises QseError if nothing can be evaluated, TypeError for pairs of another type; a failure with
    an utterance is in `failed`.
    """
    pairs = list(pairs)
    if not pairs:
        raise QseError("no pairs to evaluate: give at least one")
    foreign = [pair for pair in pairs if not isinstance(pair, Pair)]
    if foreign:
        kind = type(foreign[0]).__name__
        raise TypeError(f"pairs must hold what pair_folders(noisy, clean) returns, not {kind}")
    system = as_system(system).prepared(pairs)
    rate = sample_rate or own_rate(system, pairs)
    system = system.at(rate)
    names = choose_metrics(metrics, any(pair.clean for pair in pairs), rate)
    scorer = Scorer(system, tuple(names), rate, strict=timing == "strict")
    described = _described(scorer, pairs, timing)
    training = system.training()  # read now: the run may continue during the evaluation

    with ExitStack() as stack:
        folder = Path(out) if out else stack.enter_context(private_folder())
        stack.enter_context(claimed(folder))
        stamps = stamps_of(system, names, pairs)
        store = Store(folder, scorer.columns, described, stamps)
        rows = _rows(scorer, pairs, store, stamps, timing, jobs, progress)

    found = store.findings
    if found is None:
        shown = {**described, **training}
        shown |= {"jobs": cores() if jobs is None else jobs, "machine": processor()}
        found = report.findings(system.name, rows, shown)
    found = {**found, "whole": len(pairs)}
    place = Path(out) if out else None
    return Evaluation(system, pairs, names, rate, rows, found, place, store.findings is not None)


def _rows(
    scorer: Scorer,
    pairs: list[Pair],
    store: Store,
    stamps: Mapping[str, str],
    timing: Timing,
    jobs: int | None,
    progress: Progress | None,
) -> list[Row]:
    """Return the rows of all pairs, in their order; the store gets those that it lacks."""
    done = by_utterance(store.rows)
    todo = [pair for pair in pairs if pair.name not in done]
    if todo:
        need_packages(scorer.metrics)
        if timing == "aligned":
            scorer = replace(scorer, delay=scorer.constant_delay(pairs))
        for row in score_pairs(scorer, todo, jobs):
            store.add({**row, "stamp": stamps[row["name"]]})
            if progress:
                progress(len(store.rows), len(pairs))

    store.begin()
    found = by_utterance(store.rows)
    rows = [found[pair.name] for pair in pairs]
    if todo:
        store.write(rows)
    return rows


def _described(scorer: Scorer, pairs: list[Pair], timing: Timing) -> dict[str, Any]:
    """Return all settings that tell an evaluation from another one in the same folder."""
    system = scorer.system
    lead_in = max(len(pair.lead_in) for pair in pairs)
    if lead_in and not system.computes:
        needed = "lead_in needs a model that processes what comes before"
        raise UsageError(f"{needed}, not {system.name}")

    settings = {
        "noisy": _folder_of(pairs, "noisy"),
        "clean": _folder_of(pairs, "clean"),
        "model": str(system.path) if system.path != Path() else system.name,
        "threads": system.threads,
        "system": system.name,
        "metrics": list(scorer.metrics),
        "sample_rate": scorer.sample_rate,
        "timing": timing,
    }
    device = getattr(system, "device", "cpu")
    settings |= {"device": device} if device != "cpu" else {}
    return settings | ({"lead_in": lead_in} if lead_in else {})


def _folder_of(pairs: list[Pair], side: str) -> str:
    """Return the folder that holds all files of a side of the pairs, "" if there is none."""
    parents = set()
    for pair in pairs:
        path: Path | None = getattr(pair, side)
        if path:
            parents.add(str(path.parent.absolute()))
    try:
        return os.path.commonpath(parents)
    except ValueError:  # no files, or several drives
        return ""


def read_groups(
    table: Path, columns: Iterable[str], pairs: list[Pair]
) -> dict[str, dict[str, str]]:
    """Return {column: {utterance: group}} of a tab-separated table; the first column names them.

    Raises QseError for a table that cannot be read, or that names none of the utterances.
    """
    groups = {column: report.read_groups(table, column) for column in columns}
    named = set().union(*groups.values())
    if not any(pair.name in named for pair in pairs):
        called = f"they are called {pairs[0].name} and so on"
        raise QseError(f"{table} names none of the utterances: {called}")
    return groups

"""Run a complete evaluation: from a request to scores, tables and plots in a folder."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ..audio.atomic_write import write_text
from ..data.datasets import SAMPLE_RATE, TEST_SETS, Pair, Stages, pair_folders, voicebank_files, with_lead_in
from ..errors import QseError, UsageError
from ..extras import need
from ..machine import cores, processor
from . import report
from .metrics import METRICS, resolve
from .reading import common_rate
from .runner import evaluate
from .store import Row
from .systems import System, find_system

ORIGINALS: dict[str, Callable[[Path], list[Pair]]] = {  # corpora that come at 48 kHz, read without conversion
    "voicebank": lambda folder: voicebank_files(folder, "test"),
}


@dataclass(frozen=True)
class EvaluationData:
    """Location of the utterances: folders `noisy` and, for references, `clean`; or a corpus and its folder."""

    noisy: Path | None = None
    clean: Path | None = None
    dataset: str | None = None
    data: Path | None = None

    def pairs(self, sample_rate: int | None = None, progress: Stages | None = None) -> list[Pair]:
        """Return the utterances, sorted by name; those of a corpus as 16 kHz copies unless `sample_rate` is higher.

        Raises UsageError for options that are missing or exclude each other.
        """
        if self.dataset is None:
            if self.noisy is None or self.data:
                raise UsageError("give the test data: --noisy DIR with or without --clean DIR, or --dataset and --data")
            return pair_folders(self.noisy, self.clean)
        if self.dataset not in TEST_SETS:
            raise UsageError(f"no data set called {self.dataset}: there are {', '.join(TEST_SETS)}")
        if self.data is None or self.noisy or self.clean:
            raise UsageError(
                f"--dataset {self.dataset} needs --data DIR, the corpus' folder, and no --noisy or --clean"
            )
        if sample_rate and sample_rate > SAMPLE_RATE:
            if self.dataset not in ORIGINALS:
                raise UsageError(f"{self.dataset} has {SAMPLE_RATE} Hz: leave out --sample-rate")
            return ORIGINALS[self.dataset](self.data)
        return TEST_SETS[self.dataset](self.data, partial(progress, "to 16 kHz") if progress else None)

    def settings(self) -> dict[str, str]:
        """Return the fields that are set, as text."""
        fields = {"dataset": self.dataset, "data": self.data, "noisy": self.noisy, "clean": self.clean}
        return {key: str(value) for key, value in fields.items() if value}


@dataclass(frozen=True)
class EvaluationRequest:
    """Model, data and settings of an evaluation.

    model: see `systems.find_system`. metrics: comma-separated names, or "all" that the data allow. out: folder for the
    results; runs/evaluate/MODEL if None. sample_rate: rate of reading and of SI-SDR; None: that of the
    files if it is the same for all, above 16 kHz, and the system's own, else 16 kHz. jobs: processes, one per core if
    None. groups: tab-separated table whose first column names the utterance; by: its columns to group by. lead_in:
    number of other utterances that the model processes before each one.
    """

    model: str
    data: EvaluationData
    metrics: str = "all"
    out: Path | None = None
    sample_rate: int | None = None
    jobs: int | None = None
    threads: int = 1
    groups: Path | None = None
    by: tuple[str, ...] = ()
    plot: bool = False
    lead_in: int = 0


@dataclass(frozen=True)
class EvaluationResult:
    """The Markdown text of an evaluation, the folder that holds it, and {utterance: error}."""

    text: str
    folder: Path
    failed: dict[str, str]


def run_evaluation(request: EvaluationRequest, progress: Stages | None = None) -> EvaluationResult:
    """Evaluate a system and write scores, summary and plots. Raises QseError if nothing can be evaluated."""
    system = find_system(request.model, request.threads)
    if request.lead_in and not system.computes:
        raise UsageError(f"--lead-in needs a model that processes what comes before, not {request.model}")
    pairs = with_lead_in(request.data.pairs(request.sample_rate, progress), request.lead_in)
    rate = request.sample_rate or _own_rate(system, pairs)
    system = system.at(rate)
    metrics = choose_metrics(request.metrics, any(pair.clean for pair in pairs), rate)
    if request.plot:
        need("matplotlib")
    groups = _read_groups(request, pairs)
    out = request.out or Path("runs", "evaluate", system.name)
    settings = _settings(request, system)
    training = system.training()  # read now: the run may continue during the evaluation
    jobs = cores() if request.jobs is None else request.jobs
    advance = partial(progress, system.name) if progress else None
    rows = evaluate(
        system, pairs, out, metrics=metrics, sample_rate=rate, jobs=jobs, settings=settings, progress=advance
    )
    settings |= {"sample_rate": rate} if rate != SAMPLE_RATE else {}
    found = report.findings(system.name, rows, {**settings, **training, "jobs": jobs, "machine": processor()})
    text = _write(out, found, rows, groups)
    if request.plot:
        from .report_plots import plot_report

        plot_report(out, system, pairs, rows, metrics, rate)
    return EvaluationResult(text, out, found["failed"])


def choose_metrics(metrics: str, has_clean: bool, sample_rate: int = SAMPLE_RATE) -> list[str]:
    """Return the metrics of a comma-separated list, or of "all". UsageError for one that is unknown or not possible."""
    referenced = [name for name, metric in METRICS.items() if has_clean or not metric.needs_clean]
    possible = [name for name in referenced if METRICS[name].least_rate <= sample_rate]
    if metrics == "all":
        names = [name for name in possible if not METRICS[name].on_request]
    else:
        try:
            names = resolve(name for name in metrics.split(",") if name.strip() or "," not in metrics)
        except ValueError as reason:
            raise UsageError(str(reason)) from reason
    for name in names:
        if name not in referenced:
            raise UsageError(f"{name} needs the clean files: give --clean DIR, or one of {', '.join(possible)}")
        if name not in possible:
            raise UsageError(f"{name} needs files at {METRICS[name].least_rate} Hz or more, not {sample_rate} Hz")
    _check_packages(names)
    return names


def _own_rate(system: System, pairs: list[Pair]) -> int:
    """Return the rate of all files if it is above 16 kHz and the system supports it, else 16 kHz."""
    rate = common_rate(pairs)
    return rate if rate and rate > SAMPLE_RATE and system.supports(rate) else SAMPLE_RATE


def _settings(request: EvaluationRequest, system: System) -> dict[str, Any]:
    """Return the settings in which this evaluation may differ from another one in the same folder."""
    place = system.name if system.baseline else str(system.path)
    settings = {**request.data.settings(), "model": place, "threads": request.threads}
    return settings | ({"lead_in": request.lead_in} if request.lead_in else {})


def _read_groups(request: EvaluationRequest, pairs: list[Pair]) -> dict[str, dict[str, str]]:
    """Return {column: {utterance: group}}, empty without a table. UsageError if only one of the options is given."""
    if request.groups is None and not request.by:
        return {}
    if request.groups is None or not request.by:
        raise UsageError("--groups FILE and --by COLUMN go together")
    groups = {column: report.read_groups(request.groups, column) for column in request.by}
    if not {pair.name for pair in pairs} & set(groups[request.by[0]]):
        raise QseError(f"{request.groups} names none of the utterances: they are called {pairs[0].name} and so on")
    return groups


def _write(out: Path, found: dict[str, Any], rows: list[Row], groups: dict[str, dict[str, str]]) -> str:
    """Write summary.md and summary.json; return the text of the former."""
    text = report.table(found)
    for column, group_of in groups.items():
        text += "\n" + report.group_table(rows, group_of, column)
        parts = report.grouped(rows, group_of)
        results = {group: report.findings(found["system"], part) for group, part in parts.items()}
        found.setdefault("groups", {})[column] = results
    write_text(out / "summary.md", text)
    write_text(out / "summary.json", json.dumps(found, indent=2) + "\n")
    return text


def _check_packages(names: list[str]) -> None:
    """Raise MissingExtra if the package of a metric is missing, before any work."""
    composites = [name for name in METRICS if name.startswith(("csig", "cbak", "covl"))]
    packages = {"pesq": ("pesq_wb", *composites), "pystoi": ("stoi", "estoi")}
    for package, users in packages.items():
        if set(users) & set(names):
            need(package)
    if any(name.startswith("dnsmos") for name in names):
        need("speechmos.dnsmos")

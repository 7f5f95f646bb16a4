"""Study room: from the words of a command to scores, tables and pictures in a folder."""

import json
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from ..audio.atomic_write import write_whole
from ..data.datasets import SAMPLE_RATE, TEST_SETS, Pair, Stages, pair_folders, with_lead_in
from ..errors import QseError, UsageError
from ..extras import need
from ..machine import processor
from ..runtime.batch import cores
from . import report
from .metrics import METRICS
from .runner import Task, enhance, evaluate, read_pair
from .store import Row
from .systems import System, find_system

WORST = 10  # utterances that a picture per metric shows: those with the smallest gain


@dataclass(frozen=True)
class Source:
    """Where the utterances are: two folders, or one of noisy recordings only, or an official corpus and its folder."""

    noisy: Path | None = None
    clean: Path | None = None
    dataset: str | None = None
    data: Path | None = None

    def pairs(self, progress: Stages | None = None) -> list[Pair]:
        """The utterances, sorted by name. UsageError for a mixture of the three ways."""
        if self.dataset is None:
            if self.noisy is None or self.data:
                raise UsageError(
                    "say what to evaluate on: --noisy DIR with or without --clean DIR, or --dataset and --data"
                )
            return pair_folders(self.noisy, self.clean)
        if self.dataset not in TEST_SETS:
            raise UsageError(f"no data set called {self.dataset}: there are {', '.join(TEST_SETS)}")
        if self.data is None or self.noisy or self.clean:
            raise UsageError(
                f"--dataset {self.dataset} needs --data DIR, the corpus' folder, and no --noisy or --clean"
            )
        convert = partial(progress, "to 16 kHz") if progress else None
        return TEST_SETS[self.dataset](self.data, convert)

    def words(self) -> dict[str, str]:
        """The same as plain text, for the record."""
        fields = {"dataset": self.dataset, "data": self.data, "noisy": self.noisy, "clean": self.clean}
        return {key: str(value) for key, value in fields.items() if value}


@dataclass(frozen=True)
class Outcome:
    """What a study found: the Markdown text that it wrote, where, and {utterance: error}."""

    text: str
    folder: Path
    failed: dict[str, str]


def study(
    model: str,
    source: Source,
    metrics: str = "all",
    out: Path | None = None,
    *,
    jobs: int | None = None,
    threads: int = 1,
    groups: Path | None = None,
    by: str | None = None,
    plot: bool = False,
    lead_in: int = 0,
    progress: Stages | None = None,
) -> Outcome:
    """Evaluate `model` (see systems) on `source` and write everything to `out` (runs/evaluate/MODEL if None).

    `metrics` is a comma-separated list or "all" that the data allow. `groups` is a table with tabs whose first column
    names the utterance, `by` one of its columns. `lead_in`: so many other utterances are heard before each one. Raises
    QseError for what makes the whole impossible.
    """
    system = find_system(model)
    if lead_in and system.kind not in ("model", "checkpoint"):
        raise UsageError(f"--lead-in needs a model that can hear what comes before, not {model}")
    pairs = with_lead_in(source.pairs(progress), lead_in)
    names = chosen(metrics, any(pair.clean for pair in pairs))
    if plot:
        need("matplotlib")
    table_of = read_groups(groups, by)
    if table_of and not {pair.name for pair in pairs} & set(table_of):
        raise QseError(f"{groups} names none of the utterances: they are called {pairs[0].name} and so on")
    out = out or Path("runs", "evaluate", system.name)
    jobs = cores() if jobs is None else jobs
    place = system.name if system.kind == "noisy" else str(system.path)
    settings = {**source.words(), "model": place, "threads": threads}
    settings |= {"lead_in": lead_in} if lead_in else {}
    advance = partial(progress, system.name) if progress else None
    step = _step(system)  # now: a run may continue meanwhile
    rows = evaluate(system, pairs, out, metrics=names, jobs=jobs, threads=threads, settings=settings, progress=advance)
    found = report.findings(system.name, rows, {**settings, **step, "jobs": jobs, "machine": processor()})
    text = _write(out, found, rows, table_of, by)
    if plot:
        draw(out, system, pairs, rows, names)
    return Outcome(text, out, found["failed"])


def chosen(metrics: str, has_clean: bool) -> list[str]:
    """The metrics that a list in words means. UsageError for an unknown one, or one that needs a reference in vain."""
    possible = [name for name, metric in METRICS.items() if has_clean or not metric.needs_clean]
    names = possible if metrics == "all" else [name.strip() for name in metrics.split(",") if name.strip()]
    for name in names or [""]:
        if name not in METRICS:
            raise UsageError(f"no metric called {name!r}: there are {', '.join(METRICS)}")
        if name not in possible:
            raise UsageError(f"{name} needs the clean files: give --clean DIR, or one of {', '.join(possible)}")
    _check_packages(names)
    return names


def read_groups(groups: Path | None, by: str | None) -> dict[str, str]:
    """{utterance: group}, empty without a table. UsageError if only one of the two is given."""
    if groups is None and by is None:
        return {}
    if groups is None or by is None:
        raise UsageError("--groups FILE and --by COLUMN go together")
    return report.read_groups(groups, by)


def draw(out: Path, system: System, pairs: list[Pair], rows: list[Row], metrics: list[str]) -> None:
    """A histogram per metric, spectrograms of the utterance whose first metric is the median one, and of the worst."""
    from . import plot

    scored = [row for row in rows if "error" not in row]
    if not scored:
        return
    pair_of = {pair.name: pair for pair in pairs}
    signals = cache(lambda name: panels(system, pair_of[name]))
    for metric in metrics:
        plot.plot_histogram(metric, scored, system.name, out / f"histogram-{metric}.png")
        low = sorted(scored, key=lambda row: row[metric] - row.get(f"noisy_{metric}", 0.0))[:WORST]
        plot.plot_grid([signals(row["name"]) for row in low], out / f"worst-{metric}.png")
    middle = sorted(scored, key=lambda row: row[metrics[0]])[len(scored) // 2]["name"]
    plot.plot_spectrograms(signals(middle), out / "spectrograms.png")


def panels(system: System, pair: Pair) -> list[tuple[str, Any, int]]:
    """Noisy, enhanced and clean of one utterance, as far as there are any, for `plot_spectrograms`."""
    clean, noisy = read_pair(pair, pair.clean is not None)
    signals = {f"{pair.name}, noisy": noisy}
    if system.kind != "noisy":
        signals[f"enhanced by {system.name}"] = enhance(Task(pair, system, ()), noisy)[0]
    if clean is not None:
        signals["clean"] = clean
    return [(title, audio, SAMPLE_RATE) for title, audio in signals.items()]


def _write(out: Path, found: dict[str, Any], rows: list[Row], groups: dict[str, str], by: str | None) -> str:
    text = report.table(found)
    if groups and by:
        text += "\n" + report.group_table(rows, groups, by)
        parts = report.grouped(rows, groups)
        found["groups"] = {group: report.findings(found["system"], part) for group, part in parts.items()}
    write_whole(out / "summary.md", text)
    write_whole(out / "summary.json", json.dumps(found, indent=2) + "\n")
    return text


def _check_packages(names: list[str]) -> None:
    """A package that is missing shows now, not after the first utterance."""
    packages = {"pesq": ("pesq_wb", "csig", "cbak", "covl"), "pystoi": ("stoi", "estoi")}
    for package, users in packages.items():
        if set(users) & set(names):
            need(package)
    if any(name.startswith("dnsmos") for name in names):
        need("speechmos.dnsmos")


def _step(system: System) -> dict[str, str]:
    """The training step of a checkpoint's weights, for the summary; nothing for other systems."""
    if system.kind != "checkpoint":
        return {}
    from ..networks.weights import weights_step

    return {"step": weights_step(system.path)}

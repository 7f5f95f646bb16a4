"""Lay out means of scores as Markdown tables that fit a terminal of 80 columns."""

import textwrap
from typing import Any

from .metrics import METRICS
from .report import FEW, FEWEST, RESAMPLES, SEED, Mean, cell, grouped, sides
from .store import Row

COLUMNS = 80
LONGEST_NAME = 16  # characters of a system or a group
TOO_FEW = f"\n* fewer than {FEWEST} utterances: too few for an interval\n"


def table(result: dict[str, Any]) -> str:
    """Return `report.findings` as a table: a line per metric with noisy, system, and gain."""
    lines = []
    for name in METRICS:
        if name not in result["enhanced"]:
            continue
        title = METRICS[name].title
        count = result["enhanced"][name]["n"]
        if count < result["utterances"]:
            title += f", n={count}"
        lines.append([title, *_cells(name, result)])

    system = shortened(result["system"])
    head = ["noisy", system, "gain"] if result["noisy"] else [system]
    grid = laid_out(["metric", *head], lines) if lines else "no scores\n"
    footnote = textwrap.fill(_footnote(result), COLUMNS, break_on_hyphens=False)
    return f"{grid}\n{footnote}\n"


def group_tables(rows: list[Row], groups: dict[str, str], column: str) -> str:
    """Return a table per metric, with a line per group: noisy, enhanced, and the gain."""
    parts = grouped(rows, groups)
    found = {group: sides(part) for group, part in parts.items()}
    has_noisy = any(part["noisy"] for part in found.values())
    head = ["noisy", "enhanced", "gain"] if has_noisy else ["mean"]

    tables = []
    for name in METRICS:
        lines = []
        for group, part in found.items():
            if name in part["enhanced"]:
                count = str(part["enhanced"][name]["n"])
                lines.append([shortened(group), count, *_cells(name, part)])
        if lines:
            grid = laid_out([shortened(column), "n", *head], lines)
            tables.append(f"{METRICS[name].title} by {column}\n\n{grid}")
    return "\n".join(tables)


def _cells(name: str, found: dict[str, dict[str, Mean]]) -> list[str]:
    """Return the cells of a metric: noisy, enhanced and gain, or enhanced alone."""
    enhanced = cell(name, found["enhanced"], is_short=True)
    if not found["noisy"]:
        return [enhanced]
    gain = cell(name, found["gain"], "+", is_short=True)
    return [cell(name, found["noisy"], is_short=True), enhanced, gain]


def _footnote(result: dict[str, Any]) -> str:
    settings = result["settings"]
    count = result["utterances"]
    parts = [f"{_counted(count, result)}, {result['audio_s'] / 60:.1f} minutes"]
    parts += _failures(result)
    if "sample_rate" in settings:
        parts.append(f"evaluated at {settings['sample_rate'] / 1000:g} kHz")
        parts += _lengths(result, settings["sample_rate"], settings.get("timing") == "aligned")
    if "lead_in" in settings:
        parts.append(f"each processed after {settings['lead_in']} others, as one stream")
    if settings.get("step"):  # converted weights have none
        parts.append(f"weights of step {settings['step']}")
    if count >= FEWEST:
        drawn = f"{RESAMPLES} resamples, seed {SEED}"
        parts.append(f"± half of the 95 % bootstrap interval over utterances ({drawn})")
    if result["rtf"] is not None:
        used = f"threads={settings.get('threads', 1)}, jobs={settings.get('jobs', 1)}"
        machine = f" on {settings['machine']}" if settings.get("machine") else ""
        parts.append(f"RTF {result['rtf']:.4f} with {used}{machine}")
    return "; ".join(parts) + "."


def _counted(count: int, result: dict[str, Any]) -> str:
    """Return how many utterances have scores, and of how many where some have none."""
    whole = result.get("whole", count)
    if count >= whole:
        return f"{count} utterance{'' if count == 1 else 's'}"
    kind = "pairs" if result["settings"].get("clean") else "utterances"
    return f"only {count} of {whole} {kind}"


def _failures(result: dict[str, Any]) -> list[str]:
    """Return how many utterances have no scores, how many lack some, and how many are damaged."""
    partial = result["partial"]
    failed = len(result["failed"]) - partial
    found = [f"{failed} failed"] if failed else []
    found += [f"{partial} without some scores"] if partial else []
    damaged = len(result.get("damaged", {}))
    return [*found, f"{damaged} of damaged files"] if damaged else found


def _lengths(result: dict[str, Any], sample_rate: int, aligned: bool) -> list[str]:
    """Return what was trimmed, and delay, drift and polarity of the output."""
    found = []
    if trimmed := result["trimmed"]:
        found.append(f"{trimmed['n']} trimmed by up to {trimmed['high']} samples")
    if inverted := result.get("inverted"):
        found.append(f"polarity inverted in {inverted}")
    if drift := result.get("drift"):
        late = "slower" if drift["median"] > 0 else "faster"
        clock = f"its clock is {late} by {abs(drift['median'])} ppm in the median"
        cure = "resample it" if not aligned else "resample it: nothing was aligned"
        return [*found, f"output drifts against the references ({clock}); {cure}"]
    delay = result["delay"]
    if delay and delay["median"]:
        text = f"output delayed by {_duration(delay['median'], sample_rate)}"
        if delay["low"] != delay["high"]:
            low = _duration(delay["low"], sample_rate)
            high = _duration(delay["high"], sample_rate)
            text += f" in the median, from {low} to {high}"
        found.append(f"{text}, {'compensated' if aligned else 'not compensated'}")
    return found


def _duration(samples: int, sample_rate: int) -> str:
    return f"{samples} samples ({1000 * samples / sample_rate:.1f} ms)"


def laid_out(head: list[str], lines: list[list[str]]) -> str:
    """Return a Markdown table with cells of equal width per column; below it, what FEW means."""
    rows = [head, *lines]
    marked = any(each.endswith(FEW) for row in lines for each in row)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    text = [_line(row, widths) for row in rows]
    return "\n".join([text[0], rule, *text[1:]]) + "\n" + (TOO_FEW if marked else "")


def _line(cells: list[str], widths: list[int]) -> str:
    padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
    return "| " + " | ".join(padded) + " |"


def shortened(name: str) -> str:
    """Return a name of at most LONGEST_NAME characters."""
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"

"""Compare two evaluations of the same recordings: paired differences with 95 % intervals.

A difference is computed utterance by utterance, so that its interval is narrower than the two
intervals of the means side by side.
"""

from pathlib import Path

from ..errors import QseError
from .metrics import METRICS, NOISY
from .report import Mean, cell, interval
from .store import SCORES, Row, by_utterance, read_rows, read_settings
from .tables import laid_out

SAME = 1e-3  # largest difference between scores of the same noisy recordings


def differences(rows: list[Row], others: list[Row], side: str = "") -> dict[str, Mean]:
    """Return {metric: mean and interval of rows minus others}, utterance by utterance.

    Utterances that only one of them has are left out. side: NOISY compares the noisy signals.
    """
    partners = by_utterance(others)
    found = {}
    for name in METRICS:
        column = side + name
        values = []
        for row in rows:
            other = partners.get(row["name"], {})
            if column in row and column in other:
                values.append(row[column] - other[column])
        if values:
            found[name] = interval(values)
    return found


def comparison(rows: list[Row], others: list[Row], name: str, other: str) -> str:
    """Return a Markdown table of the paired differences of `name` minus `other`.

    Raises QseError if the evaluations have no utterance in common, or other noisy recordings.
    """
    found = differences(rows, others)
    if not found:
        raise QseError(f"{name} and {other} have no utterance and metric in common to compare")
    for metric, change in differences(rows, others, NOISY).items():
        if max(-change["low"], change["high"]) > SAME:
            raise QseError(
                f"{metric} of the noisy recordings differs between {name} and {other}: compare "
                "evaluations of the same recordings"
            )
    lines = []
    for metric, change in found.items():
        lines.append([METRICS[metric].title, str(change["n"]), cell(metric, found, "+")])
    return laid_out(["metric", "n", f"{name} minus {other}"], lines)


def compared(folder: str | Path, other: str | Path) -> str:
    """Return the `comparison` of the results in two folders, by their names; by their paths where
    both have one name.

    Raises QseError as `comparison` does, and for results at different sample rates.
    """
    first = Path(folder)
    second = Path(other)
    names = [first.name, second.name]
    if first.name == second.name:
        names = [str(first), str(second)]
    rates = [read_settings(place).get("sample_rate") for place in (first, second)]
    if rates[0] != rates[1]:
        raise QseError(
            f"{first} is evaluated at {rates[0]} Hz, {second} at {rates[1]} Hz: evaluate one of "
            "them again with the sample_rate of the other"
        )
    return comparison(read_rows(first / SCORES), read_rows(second / SCORES), *names)

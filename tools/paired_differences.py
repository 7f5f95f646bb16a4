"""Compare two evaluations of the same recordings: paired differences with 95 % intervals.

    python tools/paired_differences.py A B

A and B are results of `qse evaluate`, folders with scores.csv. Prints a Markdown table: the mean of
A minus B for every metric that both have, with its bootstrap interval over utterances.
"""

import argparse
from pathlib import Path

from qse.errors import QseError
from qse.evaluate.metrics import METRICS
from qse.evaluate.report import Mean, cell, interval
from qse.evaluate.store import Row, read_rows

SAME = 1e-3  # largest difference between scores of the same noisy recordings


def differences(rows: list[Row], others: list[Row], side: str = "") -> dict[str, Mean]:
    """Return {metric: mean and interval of rows minus others}, utterance by utterance.

    Utterances that only one of them has are left out. side: "noisy_" compares the noisy signals.
    """
    partners = {other["name"]: other for other in others}
    found = {}
    for name in METRICS:
        values = []
        for row in rows:
            other = partners.get(row["name"], {})
            if side + name in row and side + name in other:
                values.append(row[side + name] - other[side + name])
        if values:
            found[name] = interval(values)
    return found


def main() -> None:
    """Read the command line and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("a", type=Path, help="folder of an evaluation")
    parser.add_argument("b", type=Path, help="folder of another evaluation")
    given = parser.parse_args()
    rows = read_rows(given.a / "scores.csv")
    others = read_rows(given.b / "scores.csv")
    for name, change in differences(rows, others, "noisy_").items():
        if max(-change["low"], change["high"]) > SAME:
            raise QseError(f"{name} of the noisy recordings differs: these are not the same")

    print(f"| metric | utterances | {given.a.name} minus {given.b.name} |\n|---|---|---|")
    for name, change in differences(rows, others).items():
        print(f"| {METRICS[name].title} | {change['n']} | {cell(name, {name: change}, '+')} |")


if __name__ == "__main__":
    try:
        main()
    except (QseError, OSError) as error:
        raise SystemExit(f"paired_differences.py: {error}") from None

"""Tables of results and their cells, for release_rows.py."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from qse.evaluate.metrics import METRICS
from qse.evaluate.report import Mean, cell, gains, summary
from qse.evaluate.store import Row

MAIN = ("pesq_wb", "stoi", "si_sdr")
BINS = ("noise_reduction", "speech_loss")
PAUSES = ("pause_attenuation", "pause_attenuation_median")
MOS = ("dnsmos_ovrl", "dnsmos_sig", "dnsmos_bak", "dnsmos_p808")
TITLES = {
    "pesq_wb": "WB-PESQ",
    "noise_reduction": "noise removed dB",
    "speech_loss": "speech lost %",
    "band_snr": "SNR from 8 to 20 kHz, dB",
    "dnsmos_ovrl": "OVRL",
    "dnsmos_sig": "SIG",
    "dnsmos_bak": "BAK",
    "dnsmos_p808": "P.808",
}


@dataclass(frozen=True)
class Table:
    """A table: the cells of its head, and of each row."""

    head: list[str]
    rows: list[list[str]] = field(default_factory=list)

    def add(self, *cells: str) -> None:
        """Append a row; cells that it lacks at its end are empty."""
        empty = [""] * (len(self.head) - len(cells))
        self.rows.append([*cells, *empty])


def title(name: str) -> str:
    """Return the heading of a metric."""
    return TITLES.get(name, METRICS[name].title)


def titles(names: Iterable[str], label: str = "") -> list[str]:
    """Return the headings of metrics; `label`, if given, precedes the first."""
    found = [title(name) for name in names]
    if label:
        found[0] = f"{label}: {found[0]}"
    return found


def mean(name: str, means: dict[str, Mean], sign: str = "") -> str:
    """Return the mean of a metric in its digits, "" if there is none."""
    if name not in means:
        return ""
    return f"{means[name]['mean']:{sign}.{METRICS[name].digits}f}"


def mean_cells(means: dict[str, Mean], names: Iterable[str], sign: str = "") -> list[str]:
    """Return the means of metrics."""
    return [mean(name, means, sign) for name in names]


def interval_cells(means: dict[str, Mean], names: Iterable[str], sign: str = "") -> list[str]:
    """Return the means of metrics with their intervals."""
    return [cell(name, means, sign) for name in names]


def value_and_gain_cells(rows: list[Row]) -> list[str]:
    """Return mean and gain of the main metrics over utterances."""
    values = summary(rows)
    better = gains(rows)
    return [f"{mean(name, values)}, {mean(name, better, '+')}" for name in MAIN]


def noise_cells(rows: list[Row]) -> list[str]:
    """Return the number of utterances and their gains; empty cells where there are none."""
    names = (MAIN[0], MAIN[2], *BINS)
    if not rows:
        return [""] * (1 + len(names))
    return [str(len(rows)), *mean_cells(gains(rows), names, "+")]


def steady_levels(text: str, columns: int) -> dict[str, str]:
    """Return {sound: levels at its end} from the table of steady.py with so many columns.

    The column of the model does not count.
    """
    found = {}
    for line in text.splitlines():
        _, *cells = map(str.strip, line.strip("|").split("|"))
        if len(cells) == columns and cells[0] not in ("sound", "noise", "---"):
            found[cells[0]] = " / ".join(text.rpartition(", ")[2] for text in cells[1:])
    return found

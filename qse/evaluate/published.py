"""Lay out published results beside one's own.

The rows are those of Tables 2 and 3 of Yamauchi, Nitta and Tamori 2026, "Quaternion Self-Attention
with Shared Scores" (arXiv:2605.24920), which name where they come from; "this paper" for its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import UsageError
from .metrics import METRICS
from .tables import laid_out, shortened

PAPER = "arXiv:2605.24920"
NONE = "-"  # in the place of a value


@dataclass(frozen=True)
class PublishedTable:
    """Results on the test set of a corpus: lines of a system, where it comes from, its parameters
    in millions, and its scores in `metrics`."""

    number: int
    metrics: tuple[str, ...]
    text: str

    def rows(self) -> list[list[str]]:
        """Return the cells of all lines."""
        rows = []
        for line in self.text.strip().splitlines():
            rows.append([cell.strip() for cell in line.split("|")])
        return rows


VOICEBANK = """
noisy          | this paper             | -     | 1.97 3.35 2.44 2.63 0.91 -
SEGAN          | Pascual et al. 2017    | 97.47 | 2.16 3.48 2.94 2.80 0.92 -
TSTNN          | Wang et al. 2021       | 0.92  | 2.96 4.10 3.77 3.52 0.95 -
MetricGAN+     | Fu et al. 2021         | -     | 3.15 4.14 3.18 3.64 0.94 -
SE-Conformer   | Kim & Seo 2021         | -     | 3.13 4.45 3.55 3.82 0.95 -
CMGAN          | Cao et al. 2022        | 1.83  | 3.41 4.63 3.94 4.12 0.96 -
DCCRN          | Hu et al. 2020         | 3.07  | 2.59 - - - 0.94 18.74
NSE-CATNet     | Saleem et al. 2023     | 3.57  | 3.19 4.41 3.66 3.82 0.96 -
real Conformer | this paper             | 3.19  | 3.25 4.43 3.68 3.88 0.95 19.09
QDenseNet      | this paper             | 0.74  | 2.80 3.84 3.41 3.32 0.94 18.42
QTN            | Yang et al. 2023       | 0.63  | 2.76 3.76 3.43 3.26 0.94 19.55
QTransformer   | Tay et al. 2019        | 0.62  | 3.07 4.26 3.61 3.68 0.95 19.62
QTransformer   | this paper             | 0.62  | 3.07 4.30 3.62 3.71 0.95 19.69
QConformer     | Tay et al. 2019        | 0.80  | 3.11 4.30 3.64 3.73 0.95 19.64
QConformer     | this paper             | 0.80  | 3.18 4.36 3.65 3.79 0.95 19.36
DeepFilterNet3 | Schröter et al. 2023   | -     | 3.17 4.34 3.61 3.77 0.94 -
UNIVERSE++     | Scheibler et al. 2024  | 107.5 | 3.02 - - - 0.86 18.62
"""

DNS3 = """
noisy          | this paper      | -    | 2.11 2.89 2.34 2.90
real Conformer | this paper      | 3.19 | 2.77 3.12 3.77 3.41
QTransformer   | Tay et al. 2019 | 0.62 | 2.61 3.07 3.44 3.30
QTransformer   | this paper      | 0.62 | 2.67 3.06 3.61 3.36
QConformer     | Tay et al. 2019 | 0.80 | 2.67 3.08 3.57 3.33
QConformer     | this paper      | 0.80 | 2.69 3.11 3.57 3.32
"""

REFERENCE = ("pesq_wb", "csig", "cbak", "covl", "stoi", "si_sdr")
NO_REFERENCE = ("dnsmos_ovrl", "dnsmos_sig", "dnsmos_bak", "dnsmos_p808")
PUBLISHED = {
    "voicebank": PublishedTable(2, REFERENCE, VOICEBANK),
    "dns3": PublishedTable(3, NO_REFERENCE, DNS3),
}


def find_published(dataset: str | None) -> PublishedTable:
    """Return the results on the test set of a corpus. Raises UsageError where there are none."""
    if dataset not in PUBLISHED:
        known = " or ".join(PUBLISHED)
        raise UsageError(f"published results are those on the test set of a corpus: name {known}")
    return PUBLISHED[dataset]


def beside_published(findings: dict[str, Any], table: PublishedTable) -> str:
    """Return a Markdown table: the system and the noisy signals of an evaluation, then the
    published rows, with the metrics that both have.

    Scores by the protocol of the published code are shown where the evaluation has them.
    """
    found = findings["enhanced"]
    chosen = {name: _by_protocol(name, found) for name in table.metrics}
    shown = [name for name in table.metrics if chosen[name] in found]
    if not shown:
        return f"no published results in these metrics: they are in {', '.join(table.metrics)}\n"

    head = ["system", "source", "params M", *(METRICS[name].title for name in shown)]
    own = [chosen[name] for name in shown]
    lines = [_own(shortened(findings["system"]), found, own)]
    if findings["noisy"]:
        lines.append(_own("noisy", findings["noisy"], own))
    for system, source, params, scores in table.rows():
        published = dict(zip(table.metrics, scores.split(), strict=True))
        lines.append([system, source, params, *(published[name] for name in shown)])
    note = f"Published: Table {table.number} of {PAPER}, where the rows name their sources.\n"
    if own != shown:
        note += f"This run: {', '.join(own)}.\n"
    return f"{laid_out(head, lines)}\n{note}"


def _by_protocol(name: str, found: Mapping[str, Any]) -> str:
    """Return the name of the same metric by the protocol of the published code, where it is
    found."""
    published = f"{name}_published"
    return published if published in found else name


def _own(system: str, means: dict[str, Any], shown: list[str]) -> list[str]:
    cells = []
    for name in shown:
        cells.append(f"{means[name]['mean']:.2f}" if name in means else NONE)
    return [system, "this run", NONE, *cells]

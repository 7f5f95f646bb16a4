"""Make the rows of the tables of docs/models-tables.md from scores, for release_tables.py."""

from collections.abc import Callable, Iterable
from pathlib import Path

from qse.evaluate.metrics import METRICS
from qse.evaluate.report import Mean, cell, gains, grouped, interval, read_groups, summary
from qse.evaluate.store import Row, read_rows

MODELS = ("live-tiny", "live-base", "live-large")
MAIN = ("pesq_wb", "stoi", "si_sdr")
BINS = ("noise_reduction", "speech_loss")


class Tables:
    """The rows of each table: a method per table, named as in the document, returns rows of cells."""

    def __init__(self, results: Path, before: Path, data: Path):
        self._results, self._before, self._data = results, before, data

    def rows(self, name: str) -> list[list[str]]:
        """Return the rows of a table by its name in the document."""
        return getattr(self, name.replace("-", "_"))()

    def overview(self) -> list[list[str]]:
        means = [summary(self._rows(model, "valid")) for model in MODELS]
        return [[_title(name), *(_mean(name, mean) for mean in means)] for name in MAIN]

    def validation(self) -> list[list[str]]:
        table = []
        for model in MODELS:
            rows = self._rows(model, "valid")
            table.append([model, *_cells(summary(rows), MAIN)])
            table.append(["gain", *_cells(gains(rows), MAIN, "+")])
        return table

    def enhancers(self) -> list[list[str]]:
        return [
            [
                model,
                "48 kHz",
                *(_mean(n, means, "+" if n == "band_snr" else "") for n in (*MAIN, "band_snr")),
            ]
            for model, means in ((model, summary(self._rows(model, "valid48"))) for model in MODELS)
        ]

    def wide_band(self) -> list[list[str]]:
        return [
            [m, *_means(summary(self._rows(m, "valid48-wide")), (*MAIN, BINS[0]))] for m in MODELS
        ]

    def unseen(self) -> list[list[str]]:
        return [[m, *_cells(summary(self._rows(m, "unseen")), (*MAIN, *BINS))] for m in MODELS]

    def unseen_full_band(self) -> list[list[str]]:
        return [
            [m, *_cells(summary(self._rows(m, "unseen48")), (*MAIN, "band_snr"))] for m in MODELS
        ]

    def snr(self) -> list[list[str]]:
        wide, full = (self._groups("live-base", name, "snr_db") for name in ("valid", "valid48"))
        return [[snr, *_values(wide[snr]), *_values(full[snr])] for snr in wide]

    def noise(self) -> list[list[str]]:
        wide, full = (self._groups("live-base", name, "noise") for name in ("valid", "valid48"))
        kinds = {kind: [wide.get(kind, []), full.get(kind, [])] for kind in sorted({*wide, *full})}
        kinds["all"] = [self._rows("live-base", name) for name in ("valid", "valid48")]
        return [
            [kind, *(text for rows in both for text in _noise_cells(rows))]
            for kind, both in kinds.items()
        ]

    def sources(self) -> list[list[str]]:
        table = []
        for evaluation, pairs in (("unseen", "UNSEEN"), ("valid", "VALID"), ("valid48", "VALID48")):
            for column, kind in (("speech_source", "speech"), ("noise_source", "noise")):
                for source, rows in self._groups("live-base", evaluation, column).items():
                    better = _means(gains(rows), MAIN, "+")
                    change = cell(
                        MAIN[0], self._changes("live-base", evaluation, MAIN[0], rows), "+"
                    )
                    table.append([pairs, f"{kind} of {source}", str(len(rows)), *better, change])
        return table

    def voice(self) -> list[list[str]]:
        speakers, table = read_groups(self._data / "valid" / "groups.tsv", "speaker"), []
        found = [self._groups(model, "valid", "voice") for model in MODELS]
        for voice, rows in found[0].items():
            better = [
                mean
                for parts in found
                for mean in _means(gains(parts[voice]), (MAIN[0], MAIN[2]), "+")
            ]
            table.append(
                [voice, str(len({speakers[row["name"]] for row in rows})), str(len(rows)), *better]
            )
        return table

    def language(self) -> list[list[str]]:
        parts = self._groups("live-base", "valid48", "language")
        names = (*MAIN, "band_snr")
        return [[k, str(len(rows)), *_means(gains(rows), names, "+")] for k, rows in parts.items()]

    def synthetic(self) -> list[list[str]]:
        return _by_model(
            lambda model, language: [
                language.title(),
                *_cells(gains(self._rows(model, language)), MAIN, "+"),
            ],
            ("german", "english"),
        )

    def clean(self) -> list[list[str]]:
        means = [summary(self._rows(model, "clean")) for model in MODELS]
        noise = [dict(self._steady(model, 2)) for model in MODELS]
        return [
            [f"clean speech of VALID, {_title(MAIN[0])}", *(cell(MAIN[0], mean) for mean in means)],
            *(
                [f"clean speech of VALID, {_title(n)}", *(_mean(n, mean) for mean in means)]
                for n in MAIN[1:]
            ),
            *(
                [f"{name}, level of the output in dBFS", *(levels[name] for levels in noise)]
                for name in noise[0]
            ),
        ]

    def streams(self) -> list[list[str]]:
        label = {"valid": "each pair alone", "stream": "after three others"}
        return _by_model(
            lambda m, n: [label[n], *_means(summary(self._rows(m, n)), MAIN)], tuple(label)
        )

    def steady(self) -> list[list[str]]:
        found = [dict(self._steady(model, 3)) for model in MODELS]
        return [[sound, *(gain[sound] for gain in found)] for sound in found[0]]

    def whispers(self) -> list[list[str]]:
        means = [summary(self._rows(model, "whispers")) for model in MODELS]
        return [[_title(name), *(_mean(name, mean) for mean in means)] for name in MAIN[1:]]

    def changes(self) -> list[list[str]]:
        label = {
            "unseen": "UNSEEN",
            "unseen48": "UNSEEN48",
            "valid48": "VALID48 at 48 kHz",
            "valid48-wide": "VALID48 at 16 kHz",
            "valid": "VALID",
        }
        names = (*MAIN, "noise_reduction", "band_snr")
        return _by_model(
            lambda m, pairs: [label[pairs], *(self._change(m, pairs, n) for n in names)],
            tuple(label),
        )

    def _change(self, model: str, evaluation: str, name: str) -> str:
        change = self._changes(model, evaluation, name, self._rows(model, evaluation))
        if not change:
            return ""
        before = [
            row[name]
            for row in read_rows(self._before / model / evaluation / "scores.csv")
            if name in row
        ]
        return f"{_mean(name, {name: interval(before)})}, {cell(name, change, '+')}"

    def _changes(self, model: str, evaluation: str, name: str, rows: list[Row]) -> dict[str, Mean]:
        """Return the mean and interval of a metric minus that of the earlier release, utterance by utterance."""
        before = {
            row["name"]: row for row in read_rows(self._before / model / evaluation / "scores.csv")
        }
        found = [row[name] - before[row["name"]][name] for row in rows if name in row]
        return {name: interval(found)} if found else {}

    def _rows(self, model: str, evaluation: str) -> list[Row]:
        return read_rows(self._results / model / evaluation / "scores.csv")

    def _groups(self, model: str, evaluation: str, column: str) -> dict[str, list[Row]]:
        groups = read_groups(self._data / evaluation / "groups.tsv", column)
        return grouped(self._rows(model, evaluation), groups)

    def _steady(self, model: str, columns: int) -> Iterable[tuple[str, str]]:
        """Yield sound and last cells of the rows of steady.py whose table has so many columns beside the model."""
        for line in (self._results / model / "steady.md").read_text(encoding="utf-8").splitlines():
            _, *cells = (text.strip() for text in line.strip("|").split("|"))
            if len(cells) == columns and cells[0] not in ("sound", "noise", "---"):
                yield cells[0], " / ".join(text.rpartition(", ")[2] for text in cells[1:])


def _by_model(cells: Callable[[str, str], list[str]], parts: tuple[str, ...]) -> list[list[str]]:
    """Return a row per model and part, with the model's name in its first row."""
    return [
        [model if part == parts[0] else "", *cells(model, part)]
        for model in MODELS
        for part in parts
    ]


def _title(name: str) -> str:
    return {"pesq_wb": "WB-PESQ"}.get(name, METRICS[name].title)


def _mean(name: str, means: dict[str, Mean], sign: str = "") -> str:
    return f"{means[name]['mean']:{sign}.{METRICS[name].digits}f}" if name in means else ""


def _means(means: dict[str, Mean], names: Iterable[str], sign: str = "") -> list[str]:
    return [_mean(name, means, sign) for name in names]


def _cells(means: dict[str, Mean], names: Iterable[str], sign: str = "") -> list[str]:
    return [cell(name, means, sign) for name in names]


def _values(rows: list[Row]) -> list[str]:
    means, better = summary(rows), gains(rows)
    return [f"{_mean(name, means)}, {_mean(name, better, '+')}" for name in MAIN]


def _noise_cells(rows: list[Row]) -> list[str]:
    if not rows:
        return [""] * 5
    return [str(len(rows)), *_means(gains(rows), (MAIN[0], MAIN[2], *BINS), "+")]

"""Make the tables of the documents from scores, for release_tables.py."""

from collections.abc import Callable
from pathlib import Path

from release_cells import (
    BINS,
    MAIN,
    MOS,
    PAUSES,
    Table,
    interval_cells,
    mean,
    mean_cells,
    noise_cells,
    steady_levels,
    title,
    titles,
    value_and_gain_cells,
)

from qse.errors import QseError
from qse.evaluate.report import Mean, cell, gains, grouped, read_groups, summary
from qse.evaluate.store import Row, read_rows

Cells = Callable[[dict[str, Mean], tuple[str, ...]], list[str]]
COMPLETE = "summary.json"  # of an evaluation that came to its end
EXAMPLE = "live-base"  # the model of tables that hold only one
STREAMED = ("live-base",)  # the models that are measured in continuous streams
SPEECH_AND_NOISE = {"speech_source": "speech", "noise_source": "noise"}
# evaluation and metrics of tables with a row per model, by the name of the mark
BY_MODEL: dict[str, tuple[str, tuple[str, ...], Cells]] = {
    "wide-band": ("valid48-wide", (*MAIN, "noise_reduction"), mean_cells),
    "unseen-means": ("unseen", (*MAIN, *BINS), mean_cells),
    "unseen-full-band-means": ("unseen48", (*MAIN, "band_snr"), mean_cells),
    "rooms-means": ("rooms", (*MAIN, PAUSES[0]), mean_cells),
    "unseen": ("unseen", (*MAIN, *BINS, *PAUSES), interval_cells),
    "unseen-full-band": ("unseen48", (*MAIN, "band_snr", *PAUSES), interval_cells),
    "rooms": ("rooms", (*MAIN, *PAUSES), interval_cells),
    "real": ("real", MOS, interval_cells),
}
BY_METRIC = {"overview": ("valid", (*MAIN, *PAUSES)), "whispers": ("whispers", MAIN[1:])}


class Absent(QseError):
    """A file is absent that a table needs: its data set was not measured, or has no groups."""


class Tables:
    """The tables of results: a method per table, with the name of the mark in the document.

    results: a folder with a folder per model. data: the folder with the groups of the utterances.
    models: names, in the order of rows.
    """

    def __init__(self, results: Path, data: Path, models: list[str]):
        self._results = results
        self._data = data
        self.models = models

    def table(self, name: str) -> Table:
        """Return a table by its name in the document. Raises Absent."""
        if name in BY_MODEL:
            return self._models_by_metric(*BY_MODEL[name])
        if name in BY_METRIC:
            return self._metrics_by_model(*BY_METRIC[name])
        return getattr(self, name.replace("-", "_"))()

    def validation(self) -> Table:
        table = Table(["system", *titles((*MAIN, *PAUSES))])
        for model in self.models:
            rows = self._rows(model, "valid")
            table.add(model, *interval_cells(summary(rows), (*MAIN, *PAUSES)))
            table.add("gain", *interval_cells(gains(rows), MAIN, "+"))
        return table

    def enhancers(self) -> Table:
        table = Table(["system", "works at", *titles((*MAIN, "band_snr"))])
        for model, means in self._summaries("valid48").items():
            above = mean("band_snr", means, "+")
            table.add(model, "48 kHz", *mean_cells(means, MAIN), above)
        return table

    def snr(self) -> Table:
        wide = self._groups(EXAMPLE, "valid", "snr_db")
        full = self._groups(EXAMPLE, "valid48", "snr_db")
        table = Table(["SNR dB", *titles(MAIN, "VALID"), *titles(MAIN, "VALID48")])
        for snr, rows in wide.items():
            table.add(snr, *value_and_gain_cells(rows), *value_and_gain_cells(full[snr]))
        return table

    def noise(self) -> Table:
        wide = self._groups(EXAMPLE, "valid", "noise")
        full = self._groups(EXAMPLE, "valid48", "noise")
        names = titles((MAIN[0], MAIN[2], *BINS))
        table = Table(["noise", "VALID: n", *names, "VALID48: n", *names])
        for kind in sorted({*wide, *full}):
            table.add(kind, *noise_cells(wide.get(kind, [])), *noise_cells(full.get(kind, [])))

        wide_cells = noise_cells(self._rows(EXAMPLE, "valid"))
        full_cells = noise_cells(self._rows(EXAMPLE, "valid48"))
        table.add("all", *wide_cells, *full_cells)
        return table

    def sources(self) -> Table:
        table = Table(["pairs", "source", "n", *titles(MAIN)])
        for evaluation in ("unseen", "valid", "valid48"):
            for column, kind in SPEECH_AND_NOISE.items():
                for source, rows in self._groups(EXAMPLE, evaluation, column).items():
                    better = mean_cells(gains(rows), MAIN, "+")
                    count = str(len(rows))
                    table.add(evaluation.upper(), f"{kind} of {source}", count, *better)
        return table

    def clean(self) -> Table:
        models = self._measured(f"clean/{COMPLETE}")
        table = Table(["", *models])
        means = self._summaries("clean").values()
        levels = [self._steady(model, columns=2) for model in models]
        label = "clean speech of VALID, "
        table.add(label + title(MAIN[0]), *(cell(MAIN[0], found) for found in means))
        for name in MAIN[1:]:
            table.add(label + title(name), *(mean(name, found) for found in means))
        for noise in levels[0]:
            row = [level[noise] for level in levels]
            table.add(f"{noise}, level of the output in dBFS", *row)
        return table

    def streams(self) -> Table:
        table = Table(["model", "", *titles(MAIN)])
        for model in filter(STREAMED.__contains__, self.models):
            alone = summary(self._rows(model, "valid"))
            stream = summary(self._rows(model, "stream"))
            table.add(model, "each pair alone", *mean_cells(alone, MAIN))
            table.add("", "after three others", *mean_cells(stream, MAIN))
        return table

    def steady(self) -> Table:
        table = Table(["sound", *self.models])
        found = [self._steady(model, columns=3) for model in self.models]
        for sound in found[0]:
            table.add(sound, *(gain[sound] for gain in found))
        return table

    def _models_by_metric(self, evaluation: str, names: tuple[str, ...], cells: Cells) -> Table:
        table = Table(["system", *titles(names)])
        for model, means in self._summaries(evaluation).items():
            table.add(model, *cells(means, names))
        return table

    def _metrics_by_model(self, evaluation: str, names: tuple[str, ...]) -> Table:
        found = self._summaries(evaluation)
        table = Table(["", *found])
        means = found.values()
        for name in names:
            table.add(title(name), *(mean(name, found) for found in means))
        return table

    def _summaries(self, evaluation: str) -> dict[str, dict[str, Mean]]:
        found = {}
        for model in self._measured(f"{evaluation}/{COMPLETE}"):
            found[model] = summary(self._rows(model, evaluation))
        return found

    def _measured(self, file: str) -> list[str]:
        """Return the models that have a file of results. Raises Absent where none has."""
        found = [model for model in self.models if (self._results / model / file).exists()]
        if not found:
            raise Absent(f"no model has {file}")
        return found

    def _rows(self, model: str, evaluation: str) -> list[Row]:
        folder = self._results / model / evaluation
        _present(folder / COMPLETE)
        return read_rows(_present(folder / "scores.csv"))

    def _groups(self, model: str, evaluation: str, column: str) -> dict[str, list[Row]]:
        groups = read_groups(_present(self._data / evaluation / "groups.tsv"), column)
        return grouped(self._rows(model, evaluation), groups)

    def _steady(self, model: str, columns: int) -> dict[str, str]:
        path = _present(self._results / model / "steady.md")
        return steady_levels(path.read_text(encoding="utf-8"), columns)


def _present(path: Path) -> Path:
    if not path.exists():
        raise Absent(f"{path} is absent")
    return path

"""Make the tables of the documents from scores, for release_tables.py."""

from pathlib import Path

from release_cells import (
    BINS,
    MAIN,
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
from qse.evaluate.differences import differences
from qse.evaluate.report import Mean, cell, gains, grouped, read_groups, summary
from qse.evaluate.store import Row, read_rows

EXAMPLE = "live-base"  # the model of tables that hold only one
SPEECH_AND_NOISE = {"speech_source": "speech", "noise_source": "noise"}


class Absent(QseError):
    """A file is absent that a table needs: its data set was not measured, or has no groups."""


class Tables:
    """The tables of results: a method per table, with the name of the mark in the document.

    results, before: folders with a folder per model, this release's and an earlier one's.
    data: the folder with the groups of the utterances. models: names, in the order of rows.
    """

    def __init__(self, results: Path, before: Path, data: Path, models: list[str]):
        self._results = results
        self._before = before
        self._data = data
        self.models = models

    def table(self, name: str) -> Table:
        """Return a table by its name in the document. Raises Absent."""
        return getattr(self, name.replace("-", "_"))()

    def overview(self) -> Table:
        return self._metrics_by_model("valid", (*MAIN, *PAUSES))

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

    def wide_band(self) -> Table:
        names = (*MAIN, "noise_reduction")
        table = Table(["system", *titles(names)])
        for model, means in self._summaries("valid48-wide").items():
            table.add(model, *mean_cells(means, names))
        return table

    def unseen(self) -> Table:
        return self._models_by_metric("unseen", (*MAIN, *BINS, *PAUSES))

    def unseen_full_band(self) -> Table:
        return self._models_by_metric("unseen48", (*MAIN, "band_snr", *PAUSES))

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
        change_title = f"change of {title(MAIN[0])}"
        table = Table(["pairs", "source", "n", *titles(MAIN), change_title])
        for evaluation in ("unseen", "valid", "valid48"):
            for column, kind in SPEECH_AND_NOISE.items():
                for source, rows in self._groups(EXAMPLE, evaluation, column).items():
                    better = mean_cells(gains(rows), MAIN, "+")
                    change = cell(MAIN[0], self._differences(EXAMPLE, evaluation, rows), "+")
                    count = str(len(rows))
                    table.add(evaluation.upper(), f"{kind} of {source}", count, *better, change)
        return table

    def voice(self) -> Table:
        speakers = self._column("valid", "speaker")
        names = (MAIN[0], MAIN[2])
        head = ["voice", "speakers", "utterances"]
        found = []
        for model in self.models:
            head += titles(names, model)
            found.append(self._groups(model, "valid", "voice"))

        table = Table(head)
        for voice, rows in found[0].items():
            heard = {speakers[row["name"]] for row in rows}
            better = []
            for groups in found:
                better += mean_cells(gains(groups[voice]), names, "+")
            table.add(voice, str(len(heard)), str(len(rows)), *better)
        return table

    def language(self) -> Table:
        names = (*MAIN, "band_snr")
        table = Table(["language", "utterances", *titles(names)])
        for language, rows in self._groups(EXAMPLE, "valid48", "language").items():
            table.add(language, str(len(rows)), *mean_cells(gains(rows), names, "+"))
        return table

    def synthetic(self) -> Table:
        table = Table(["model", "language", *titles(MAIN)])
        for model in self.models:
            german = gains(self._rows(model, "german"))
            english = gains(self._rows(model, "english"))
            table.add(model, "German", *interval_cells(german, MAIN, "+"))
            table.add("", "English", *interval_cells(english, MAIN, "+"))
        return table

    def clean(self) -> Table:
        table = Table(["", *self.models])
        means = self._summaries("clean").values()
        levels = [self._steady(model, columns=2) for model in self.models]
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
        for model in self.models:
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

    def whispers(self) -> Table:
        return self._metrics_by_model("whispers", MAIN[1:])

    def changes(self) -> Table:
        """Return what has changed, for the models that the earlier release had."""
        label = {
            "unseen": "UNSEEN",
            "unseen48": "UNSEEN48",
            "valid48": "VALID48 at 48 kHz",
            "valid48-wide": "VALID48 at 16 kHz",
            "valid": "VALID",
        }
        names = (*MAIN, "noise_reduction", "band_snr", "pause_attenuation")
        table = Table(["model", "pairs", *titles(names)])
        for model in self.models:
            first = model
            for evaluation, pairs in label.items():
                if (self._before / model).is_dir():
                    table.add(first, pairs, *self._changes(model, evaluation, names))
                    first = ""
        return table

    def _changes(self, model: str, evaluation: str, names: tuple[str, ...]) -> list[str]:
        """Return the earlier mean and the change of every metric, "" for one that either lacks."""
        before = summary(_read(self._before / model / evaluation / "scores.csv"))
        change = self._differences(model, evaluation, self._rows(model, evaluation))
        cells = []
        for name in names:
            known = name in change
            cells.append(f"{mean(name, before)}, {cell(name, change, '+')}" if known else "")
        return cells

    def _differences(self, model: str, evaluation: str, rows: list[Row]) -> dict[str, Mean]:
        """Return {metric: mean and interval of rows minus those of the earlier release}."""
        return differences(rows, _read(self._before / model / evaluation / "scores.csv"))

    def _models_by_metric(self, evaluation: str, names: tuple[str, ...]) -> Table:
        table = Table(["system", *titles(names)])
        for model, means in self._summaries(evaluation).items():
            table.add(model, *interval_cells(means, names))
        return table

    def _metrics_by_model(self, evaluation: str, names: tuple[str, ...]) -> Table:
        table = Table(["", *self.models])
        means = self._summaries(evaluation).values()
        for name in names:
            table.add(title(name), *(mean(name, found) for found in means))
        return table

    def _summaries(self, evaluation: str) -> dict[str, dict[str, Mean]]:
        return {model: summary(self._rows(model, evaluation)) for model in self.models}

    def _rows(self, model: str, evaluation: str) -> list[Row]:
        return _read(self._results / model / evaluation / "scores.csv")

    def _groups(self, model: str, evaluation: str, column: str) -> dict[str, list[Row]]:
        return grouped(self._rows(model, evaluation), self._column(evaluation, column))

    def _column(self, evaluation: str, column: str) -> dict[str, str]:
        return read_groups(_present(self._data / evaluation / "groups.tsv"), column)

    def _steady(self, model: str, columns: int) -> dict[str, str]:
        path = _present(self._results / model / "steady.md")
        return steady_levels(path.read_text(encoding="utf-8"), columns)


def _present(path: Path) -> Path:
    if not path.exists():
        raise Absent(f"{path} is absent")
    return path


def _read(path: Path) -> list[Row]:
    return read_rows(_present(path))

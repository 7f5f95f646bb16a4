"""Plot one evaluation: a histogram per metric, spectrograms of a typical utterance and of the
worst ones."""

from functools import cache
from pathlib import Path

from ..audio.file_mode import Sources
from ..data.datasets import Pair
from .computing_systems import System
from .plot import Signal, plot_grid, plot_histogram, plot_spectrograms
from .reading import read_pair
from .store import Row

WORST = 10  # utterances in the picture of a metric: those with the smallest gain


def plot_report(
    out: Path,
    system: System,
    pairs: list[Pair],
    rows: list[Row],
    metrics: list[str],
    sample_rate: int,
) -> None:
    """Write the plots of an evaluation to `out`; spectrograms.png shows the median utterance by
    the first metric."""
    pair_of = {pair.name: pair for pair in pairs}
    enhance = system.open(sample_rate)

    @cache
    def drawn(name: str) -> tuple[list[Signal], Sources]:
        """Return noisy, enhanced and clean of one utterance, those that exist, and their files,
        whose permissions limit those of a picture."""
        pair = pair_of[name]
        with Sources([*pair.files, *system.files_for(name)]) as source:
            clean, noisy = read_pair(pair, pair.clean is not None, sample_rate)
            found = [(f"{name}, noisy", noisy, sample_rate)]
            if not system.baseline:
                enhanced = enhance(pair, noisy)[0]
                found.append((f"enhanced by {system.name}", enhanced, sample_rate))
        if clean is not None:
            found.append(("clean", clean, sample_rate))
        return found, source

    for metric in metrics:
        scored = [row for row in rows if metric in row]
        if scored:
            plot_histogram(metric, scored, system.name, out / f"histogram-{metric}.png")
            worst = sorted(scored, key=lambda row: row[metric] - row.get(f"noisy_{metric}", 0.0))[
                :WORST
            ]
            found = [drawn(row["name"]) for row in worst]
            limits = Sources.of_all(source for _, source in found)
            plot_grid([shown for shown, _ in found], out / f"worst-{metric}.png", limits)
            if metric == metrics[0]:
                median = sorted(scored, key=lambda row: row[metric])[len(scored) // 2]
                signals, source = drawn(median["name"])
                plot_spectrograms(signals, out / "spectrograms.png", source)

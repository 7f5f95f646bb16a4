"""Draw spectrograms one above the other in one colour scale (the paper's Figure 5), a histogram per
metric.

F bins, T frames; levels in dB relative to a sine wave of full scale. Frequencies go up to half the
sample rate of the file with the highest one.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..audio.atomic_write import atomic_path
from ..audio.file_mode import Source
from ..audio.folder_path import make_folder
from ..errors import QseError
from ..extras import need
from ..printable import printable
from .metrics import METRICS
from .store import Row, values_of

RANGE_DB = 80.0  # from the loudest point of all panels down to the darkest colour
WINDOW = 0.032  # seconds
MOST_FRAMES = 4000  # more than a picture has pixels
INK = "#1b1b1b"
QUIET = "#9aa5b1"
ACCENT = "#d1495b"

Signal = tuple[str, np.ndarray, int]  # title, (samples,), sample rate


def levels(audio: np.ndarray, sample_rate: int) -> np.ndarray:
    """Return levels (F, T) in dB of (samples,): Hann window of 32 ms every 8 ms, less often for
    long signals."""
    n_fft = 2 * max(1, round(WINDOW * sample_rate / 2))
    hop_length = max(1, n_fft // 4, len(audio) // MOST_FRAMES)
    window = np.hanning(n_fft + 1)[:-1]
    padded = np.pad(np.asarray(audio, np.float64), n_fft // 2)
    view = np.lib.stride_tricks.sliding_window_view(padded, n_fft)[::hop_length]
    magnitude = np.abs(np.fft.rfft(view * window)).T * 2 / window.sum()
    return 20 * np.log10(np.maximum(magnitude, 1e-10))


def plot_spectrograms(
    signals: Sequence[Signal], path: Path, source: Source | None, overwrite: bool = True
) -> None:
    """Write a PNG of the signals' spectrograms, the first on top; time, frequency and colour
    scales are common.

    source: a file whose permissions it does not exceed. Raises QseError where it cannot be written,
    or, without `overwrite`, is there.
    """
    figure = _figure(9.0, 0.7 + 2.1 * len(signals))
    axes = figure.subplots(len(signals), sharex=True, sharey=True, squeeze=False)[:, 0]
    image = _spectrograms(axes, signals)
    for axis in axes:
        axis.set_ylabel("kHz")
    axes[-1].set_xlabel("seconds")
    figure.colorbar(image, ax=list(axes), pad=0.015, aspect=40).set_label("dB")
    _save(figure, path, source, overwrite)


def plot_grid(rows: Sequence[Sequence[Signal]], path: Path, source: Source | None) -> None:
    """Write a PNG with a row of spectrograms per utterance; the signals of a row share their
    scales. source: as for `plot_spectrograms`."""
    columns = max(map(len, rows))  # some utterances may have no clean signal
    figure = _figure(4.5 * columns, 0.3 + 1.8 * len(rows))
    for axes, signals in zip(figure.subplots(len(rows), columns, squeeze=False), rows, strict=True):
        _spectrograms(axes[: len(signals)], signals)
        for axis in axes[len(signals) :]:
            axis.remove()
    _save(figure, path, source)


def _spectrograms(axes: Sequence[Any], signals: Sequence[Signal]) -> Any:
    """Draw one signal per axis on common scales; return the last image."""
    panels = []
    durations = []
    for _, audio, sample_rate in signals:
        panels.append(levels(audio, sample_rate))
        durations.append(len(audio) / sample_rate)
    top = float(max(map(np.max, panels)))
    highest = max(sample_rate for *_, sample_rate in signals) / 2000

    drawn = zip(axes, signals, panels, durations, strict=True)
    for axis, (title, _, sample_rate), panel, duration in drawn:
        extent = (0, duration, 0, sample_rate / 2000)
        style = {"origin": "lower", "aspect": "auto", "cmap": "magma", "interpolation": "nearest"}
        image = axis.imshow(panel, extent=extent, vmin=top - RANGE_DB, vmax=top, **style)
        axis.set_title(_shown(title), loc="left", fontsize=10, color=INK, parse_math=False)
        axis.set_xlim(0, max(durations))
        axis.set_ylim(0, highest)
    return image


def plot_histogram(metric: str, rows: Iterable[Row], name: str, path: Path) -> None:
    """Write a PNG of a metric's histogram over utterances, for the system `name` and for the
    noisy signals."""
    rows = list(rows)
    system = values_of(rows, metric)
    noisy = values_of(rows, f"noisy_{metric}")
    bins = np.histogram_bin_edges([*system, *noisy], bins=min(40, max(8, len(system) // 6)))
    figure = _figure(6.5, 3.6)
    axis = figure.subplots()
    if noisy:
        axis.hist(
            noisy,
            bins,
            color=QUIET,
            alpha=0.6,
            label=f"noisy, mean {np.mean(noisy):.{METRICS[metric].digits}f}",
        )
    label = f"{_shown(name)}, mean {np.mean(system):.{METRICS[metric].digits}f}"
    axis.hist(system, bins, histtype="step", linewidth=2, color=ACCENT, label=label)
    axis.set_xlabel(METRICS[metric].title)
    axis.set_ylabel("utterances")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=9)
    _save(figure, path)


def _shown(text: str) -> str:
    """Return a text that fonts can draw: names of files may be in any encoding, and hold any
    sign."""
    return printable(text).encode("utf-8", "replace").decode()


def _figure(width: float, height: float) -> Any:
    """Return a matplotlib figure without window and without global state."""
    need("matplotlib")
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _save(figure: Any, path: Path, source: Source | None = None, overwrite: bool = True) -> None:
    if path.suffix.lower() != ".png":
        raise QseError(f"{path}: a picture is a PNG; name one that ends in .png")
    try:
        make_folder(path.parent)
        with atomic_path(path, overwrite, source=source) as part:
            figure.savefig(part, dpi=150, format="png")
    except OSError as error:
        raise QseError(
            f"{path} cannot be written: {error.strerror}; name another picture"
        ) from error

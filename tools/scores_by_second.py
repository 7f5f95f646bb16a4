"""Show how long a system needs to adapt: scores within each second since the start of a recording.

    python tools/scores_by_second.py live-base --clean UNSEEN/clean --noisy UNSEEN/noisy

The system is what `qse evaluate` takes: the name of a model, a folder of a model or run, an .onnx
file, or a folder with the enhanced files. Prints a Markdown table, means over pairs with 95 %
bootstrap intervals. X, Y, E are clean, noisy and enhanced:

SNR improvement  10 lg(sum |Y - X|^2 / sum |E - X|^2) over the samples of the second
pauses           10 lg(sum |Y|^2 / sum |E|^2) over the frames of 32 ms that lie within the second
                 and are pauses: clean energy at least 45 dB below the loudest frame

A pair counts in a second that it has in full, with noise in it; for pauses, with a pause in it.
"""

import argparse
from pathlib import Path

import numpy as np

from qse.data.datasets import Pair, pair_folders
from qse.errors import QseError
from qse.evaluate.choices import own_rate
from qse.evaluate.computing_systems import System, find_system
from qse.evaluate.energy import LIMIT, PAUSE, power_spectra
from qse.evaluate.reading import read_pair
from qse.evaluate.report import interval

Signals = tuple[np.ndarray, np.ndarray, np.ndarray]  # clean, noisy, enhanced, each (samples,)


def snr_improvements(signals: Signals, sample_rate: int) -> list[float]:
    """Return the reduction of the error in dB in every full second, NaN where there is none."""
    clean, noisy, enhanced = signals
    before = np.square(noisy - clean)
    after = np.square(enhanced - clean)
    found = []
    for second in range(len(clean) // sample_rate):
        part = slice(second * sample_rate, (second + 1) * sample_rate)
        found.append(decibels(before[part].sum(), after[part].sum()))
    return found


def pause_attenuations(signals: Signals, sample_rate: int) -> list[float]:
    """Return the attenuation in pauses in dB in every full second, NaN where it has no pause."""
    chunks = []
    for spectra in power_spectra(sample_rate, *signals):
        n_fft = 2 * (spectra[0].shape[1] - 1)
        chunks.append([spectrum.sum(axis=1) for spectrum in spectra])
    x, y, e = np.concatenate(chunks, axis=1)  # energy of each frame

    first = n_fft // 4 * np.arange(len(x)) - n_fft // 2  # sample of each frame
    second = first // sample_rate
    within = (first + n_fft - 1) // sample_rate == second
    pauses = within & (x <= 10 ** (PAUSE / 10) * x.max())
    found = []
    for number in range(len(signals[0]) // sample_rate):
        frames = pauses & (second == number)
        found.append(decibels(y[frames].sum(), e[frames].sum()))
    return found


def decibels(over: float, under: float) -> float:
    """Return 10 lg(over / under) within +-LIMIT; NaN if `over` is 0."""
    if over == 0:
        return np.nan
    least = 10 ** (-LIMIT / 10) * over
    return max(-LIMIT, float(10 * np.log10(over / max(under, least))))


def scores(system: System, pairs: list[Pair]) -> list[tuple[list[float], list[float]]]:
    """Return the improvements and the attenuations of every second, one value per pair.

    The list ends with the longest pair.
    """
    system = system.prepared(pairs)
    sample_rate = own_rate(system, pairs)
    enhance = system.at(sample_rate).open(sample_rate)
    seconds: list[tuple[list[float], list[float]]] = []
    for pair in pairs:
        clean, noisy = read_pair(pair, True, sample_rate)
        assert clean is not None
        enhanced, _ = enhance(pair, noisy)
        improvements = snr_improvements((clean, noisy, enhanced), sample_rate)
        attenuations = pause_attenuations((clean, noisy, enhanced), sample_rate)
        while len(seconds) < len(improvements):
            seconds.append(([], []))
        for known, improvement, attenuation in zip(
            seconds, improvements, attenuations, strict=False
        ):
            known[0].append(improvement)
            known[1].append(attenuation)
    return seconds


def cells(values: list[float]) -> str:
    """Return the cells of a column: number of pairs that have a value, mean and interval."""
    known = [value for value in values if not np.isnan(value)]
    if not known:
        return "0 | "
    found = interval(known)
    return f"{len(known)} | {found['mean']:.2f} ({found['low']:.2f} to {found['high']:.2f})"


def main() -> None:
    """Read the command line and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("system", help="as for qse evaluate")
    parser.add_argument("--clean", type=Path, required=True, help="folder of clean files")
    parser.add_argument("--noisy", type=Path, required=True, help="folder of noisy files")
    options = parser.parse_args()
    pairs = pair_folders(options.noisy, options.clean)
    found = scores(find_system(options.system), pairs)
    print("| second | pairs | SNR improvement dB | pairs | pauses dB |\n|---|---|---|---|---|")
    for second, (improvements, attenuations) in enumerate(found):
        print(f"| {second} to {second + 1} | {cells(improvements)} | {cells(attenuations)} |")


if __name__ == "__main__":
    try:
        main()
    except QseError as error:
        raise SystemExit(f"scores_by_second.py: {error}") from None

"""Rate folders of recordings by DistillMOS, a network that predicts the mean opinion score.

    pip install --no-deps distillmos==0.9.1 xls-r-sqa==0.1.0
    python tools/distill_mos.py REAL/noisy REAL/dpcrn REAL/studio-base

Needs qse with the extra `train`. DistillMOS (Stahl and Gamper, ICASSP 2025; package and weights
under the MIT licence) rates speech at 16 kHz from 1 (bad) to 5 (excellent), without a reference.
Recordings of another rate are resampled. Prints a Markdown table: the mean over the recordings of
each folder with a 95 % bootstrap interval. For comparisons alone: nothing is trained or selected
by it.
"""

import argparse
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType

import numpy as np

from qse.errors import QseError
from qse.evaluate.reading import read_rate
from qse.evaluate.report import interval

SAMPLE_RATE = 16000
SUFFIXES = (".wav", ".flac")
Rate = Callable[[np.ndarray], float]  # recording at 16 kHz, (samples,), to its score


def main() -> None:
    """Read the command line and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, nargs="+", help="folder of WAV or FLAC files")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each Nth recording only")
    options = parser.parse_args()
    folders = {folder: recordings(folder)[:: options.every] for folder in options.folder}
    rate = distill_mos()
    print("| folder | recordings | DistillMOS |\n|---|---|---|")
    for folder, paths in folders.items():
        found = interval([rate(read_rate(path, SAMPLE_RATE)) for path in paths])
        mean = f"{found['mean']:.2f} ({found['low']:.2f} to {found['high']:.2f})"
        print(f"| {folder} | {len(paths)} | {mean} |", flush=True)


def recordings(folder: Path) -> list[Path]:
    """Return the recordings of a folder in the order of their names."""
    if not folder.is_dir():
        raise QseError(f"{folder}: no such folder")
    found = sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES)
    if not found:
        raise QseError(f"{folder}: holds no WAV or FLAC file")
    return found


def distill_mos() -> Rate:
    """Return the function that rates a recording."""
    # distillmos imports it for its own command line, which reads files with it
    sys.modules.setdefault("torchaudio", ModuleType("torchaudio"))
    try:
        import torch
        from distillmos import ConvTransformerSQAModel
    except ImportError as error:
        package = {"torch": '"qse-speech[train]"', "xls_r_sqa": "--no-deps xls-r-sqa"}
        needed = package.get(error.name or "", "--no-deps distillmos xls-r-sqa")
        raise QseError(f"{error.name} is not installed: pip install {needed}") from None

    with redirect_stdout(sys.stderr):  # it prints where its weights lie
        model = ConvTransformerSQAModel().eval()
    torch.set_num_threads(1)

    def rate(recording: np.ndarray) -> float:
        with torch.inference_mode():
            return float(model(torch.from_numpy(recording).float()[None]))

    return rate


if __name__ == "__main__":
    try:
        main()
    except QseError as error:
        raise SystemExit(f"distill_mos.py: {error}") from None

"""Pack a training run for a machine without internet access, in parts of limited size.

    python tools/pack_training.py --run RUN --speech SPEECH --noise NOISE --out DIR

DIR gets part-00.tar, part-01.tar, ...: each holds whole files and can be unpacked by itself.
Together they are a folder with the run (checkpoint and config.toml), the audio as Ogg/Opus, qse and
its dependencies as wheels, and train.sh. On the other machine, where PyTorch and NumPy are
installed, with all parts in one folder:

    for part in part-*.tar; do tar -xf $part; done
    bash train.sh OUT MINUTES [options of qse train, such as --set train.batch=64]

train.sh continues the run on the GPU for MINUTES and copies checkpoint, configuration and log to
OUT. Bring them back into RUN, and continue there with qse train --resume.
"""

import argparse
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import soundfile
import soxr

from qse.audio.reader import read_array
from qse.data.datasets import audio_files
from qse.errors import QseError

# of qse train, besides torch and numpy:
DEPENDENCIES = ("soundfile", "soxr", "safetensors", "tomli_w", "typer", "rich")
OPUS_RATES = (8000, 12000, 16000, 24000, 48000)  # Hz
TRAIN = """#!/usr/bin/env bash
# Continue the packed run: bash train.sh OUT MINUTES [options of qse train]
set -euo pipefail
cd "$(dirname "$0")"
out=$1 minutes=$2
shift 2
if test -d wheels; then
    python3 -m pip install -q --no-index --find-links wheels --no-deps wheels/*.whl
fi
hours=$(python3 -c "print($minutes / 60)")
qse train --resume --out run --speech speech --noise noise --device cuda --hours "$hours" "$@"
mkdir -p "$out"
cp run/checkpoint.safetensors run/config.toml run/train.csv "$out"
"""


def code(source: Path, target: Path) -> None:
    """Write a recording as mono Ogg/Opus.

    It keeps its sample rate, or gets the next higher one where Opus lacks it.
    """
    audio, rate = read_array(source)
    audio = audio.mean(1)
    fitting = next((r for r in OPUS_RATES if r >= rate), OPUS_RATES[-1])
    if fitting != rate:
        audio = soxr.resample(audio, rate, fitting, quality="VHQ")
    target.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(target, audio, fitting, format="OGG", subtype="OPUS")


def code_folder(folder: Path, target: Path) -> None:
    """Write every recording that training reads below `folder` to the same place below `target`,
    with .opus behind its name."""
    try:
        sources = audio_files(folder)
    except QseError as error:
        raise SystemExit(str(error)) from error
    targets = []
    for path in sources:
        place = target / path.relative_to(folder)
        targets.append(place.with_name(f"{place.name}.opus"))
    with ThreadPoolExecutor() as pool:
        list(pool.map(code, sources, targets))


def collect_wheels(target: Path, python_version: str) -> None:
    """Build the wheel of this checkout and download those of its dependencies."""
    pip = [sys.executable, "-m", "pip"]
    checkout = Path(__file__).resolve().parents[1]
    subprocess.run([*pip, "wheel", "-q", "--no-deps", "--wheel-dir", target, checkout], check=True)
    wheels = ["--only-binary", ":all:", "--python-version", python_version]
    subprocess.run([*pip, "download", "-q", "--dest", target, *wheels, *DEPENDENCIES], check=True)
    for numpy in target.glob("numpy-*.whl"):  # the other machine's NumPy fits its PyTorch
        numpy.unlink()


def parts(files: list[Path], limit: int) -> Iterator[list[Path]]:
    """Yield lists of files of at most `limit` bytes as a tar archive; a larger file has its own."""
    part: list[Path] = []
    size = 0
    for file in files:
        needed = 2048 + file.stat().st_size  # header, perhaps one for a long name, and padding
        if part and size + needed > limit:
            yield part
            part = []
            size = 0
        part = [*part, file]
        size += needed
    yield part


def pack(
    run: Path, speech: Path, noise: Path, out: Path, limit: int, python_version: str = ""
) -> list[Path]:
    """Write the parts, of at most `limit` bytes each, and return them.

    Without a Python version there are no wheels in them.
    """
    for name in ("checkpoint.safetensors", "config.toml"):
        if not (run / name).is_file():
            raise SystemExit(
                f"{run}: has no {name}; name the folder of a run that was begun with qse train"
            )
    if any(out.glob("part-*.tar")):  # more of them than now would be unpacked with the new ones
        raise SystemExit(f"{out}: holds parts already; name another folder")
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out) as folder:
        root = Path(folder)
        (root / "train.sh").write_text(TRAIN)
        (root / "run").mkdir()
        for name in ("checkpoint.safetensors", "config.toml", "train.csv"):
            if (run / name).exists():
                shutil.copyfile(run / name, root / "run" / name)
        code_folder(speech, root / "speech")
        code_folder(noise, root / "noise")
        if python_version:
            collect_wheels(root / "wheels", python_version)
        files = sorted(path for path in root.rglob("*") if path.is_file())
        made = []
        for number, part in enumerate(parts(files, limit)):
            made.append(out / f"part-{number:02d}.tar")
            with tarfile.open(made[-1], "w") as archive:
                for file in part:
                    archive.add(file, file.relative_to(root))
    return made


def main() -> None:
    """Read the command line and print the parts with their sizes."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--run", type=Path, required=True, help="folder of the run")
    parser.add_argument("--speech", type=Path, required=True, help="folder of clean speech")
    parser.add_argument("--noise", type=Path, required=True, help="folder of noise")
    parser.add_argument("--out", type=Path, required=True, help="folder for the parts")
    parser.add_argument(
        "--part-size", type=float, default=60.0, help="MB per part at most (default: 60)"
    )
    parser.add_argument(
        "--python-version", default="3.12", help="of the other machine (default: 3.12)"
    )
    options = parser.parse_args()
    audio = (options.speech, options.noise)
    limit = int(1e6 * options.part_size)
    for part in pack(options.run, *audio, options.out, limit, options.python_version):
        print(f"{part}: {part.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()

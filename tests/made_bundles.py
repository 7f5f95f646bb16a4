"""Folders of speech and noise, and bundles of them, for tests."""

import shutil
from pathlib import Path

import numpy as np
import soundfile

from qse.data.bundle_pack import pack
from qse.data.bundle_shards import BundleConfig
from qse.export.streaming import speech_like

SMALL = BundleConfig(size=30_000)  # with two recordings of SECONDS in a shard
SECONDS = 0.3


def folders(folder: Path, count: int = 36, rate: int = 16000) -> tuple[Path, Path]:
    """Write `count` recordings of speech, of three speakers, and as many of noise, of SECONDS
    each."""
    rng = np.random.default_rng(0)
    for number in range(count):
        samples = round(SECONDS * rate)
        speech = speech_like(samples, rate, number)
        noise = 0.1 * rng.standard_normal(samples)
        for name, audio in ((f"speech/p{number % 3}", speech), ("noise/hiss", noise)):
            path = folder / name / f"{number}.wav"
            path.parent.mkdir(parents=True, exist_ok=True)
            soundfile.write(path, audio, rate)
    return folder / "speech", folder / "noise"


def bundle(folder: Path, out: Path, config: BundleConfig = SMALL, **named) -> list[Path]:
    """Pack the recordings of `folders`; return the parts."""
    pack([folder / "speech"], [folder / "noise"], out, config, **named)
    return sorted(out.glob("part-*.zip"))


def cut(path: Path, target: Path) -> None:
    """Copy all but the end of a file."""
    data = path.read_bytes()
    target.write_bytes(data[: len(data) // 2])


def send(part: Path, folder: Path, name: str = "") -> Path:
    """Copy a part into a folder."""
    return Path(shutil.copyfile(part, folder / (name or part.name)))

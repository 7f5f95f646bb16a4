"""Damaged recordings: what `qse denoise` writes is as long as the recording, or it says that some
is missing."""

import resource
import shutil
import subprocess
from pathlib import Path
from random import Random

import numpy as np
import soundfile
from audio_files import CONTAINER

from .mutations import damaged
from .target import Finding, Target, qse, told

SAMPLES = 24_000
SUBTYPES = {"ogg": "VORBIS", "opus": "OPUS", "mp3": "MPEG_LAYER_III"}
SUFFIXES = ("wav", "w64", "rf64", "aiff", "au", "caf", "flac", "ogg", "opus", "mp3", "m4a", "mka")
OF_FFMPEG = ("m4a", "mka")
NEAR = {"mp3": 2 * 1152, "m4a": 2 * 1024, "mka": 1024}  # samples that whole frames add or take
SAID = ("damaged", "may be cut", "cut short")
MEMORY = 500 << 10  # KiB, of a child; that of the whole process is bounded by the worker
LONGEST = 20.0  # seconds of one case, and of its sound


class Losses(Target):
    """Twelve formats: half of the cases with changes of any kind, half with one byte changed, or
    bytes removed, anywhere."""

    name = "losses"

    def prepare(self, folder: Path) -> None:
        noise = np.random.default_rng(0).standard_normal(SAMPLES)
        sound = (0.3 * np.sin(0.05 * np.arange(SAMPLES)) + 0.05 * noise).astype(np.float32)
        self.intact = []
        for suffix in SUFFIXES:
            path = folder / f"intact.{suffix}"
            if suffix in OF_FFMPEG:
                if shutil.which("ffmpeg"):
                    self.intact.append(_encoded(folder / "intact.wav", path))
                continue
            subtype = SUBTYPES.get(suffix, "PCM_16")
            soundfile.write(path, sound, 16000, subtype, format=CONTAINER.get(suffix))
            self.intact.append(path)

    def run(self, folder: Path, rng: Random) -> None:
        intact = rng.choice(self.intact)
        path = folder / f"damaged{intact.suffix}"
        change = rng.choice((damaged, _changed_once))
        path.write_bytes(change(intact.read_bytes(), rng))
        salvage = rng.random() < 0.5
        begun = _processor_time()
        line = (path, "-o", folder / "out.wav", *(["--salvage"] if salvage else []))
        status, said = qse("denoise", *line)
        took = _processor_time() - begun  # on a loaded machine, the clock says nothing
        if took > LONGEST:
            raise Finding(f"{path.name} took {took:.0f} s of processor time")
        if resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss > MEMORY:
            raise Finding(f"{path.name}: a process took more than {MEMORY >> 10} MiB")
        self.counts["refused" if status else "written"] += 1
        if status:
            told(said, path)
            return
        if _seconds(folder / "out.wav") > LONGEST:
            raise Finding(f"{path.name} became {_seconds(folder / 'out.wav'):.0f} s of sound")
        missing = SAMPLES / 16000 - _seconds(folder / "out.wav")
        if missing > NEAR.get(intact.suffix[1:], 24) / 16000 and not _says(said):
            raise Finding(f"{missing:.3f} s of {path.name} are lost unsaid: {said!r}")


def _processor_time() -> float:
    """Return the seconds that ended child processes have computed."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _encoded(wav: Path, path: Path) -> Path:
    coding = "aac" if path.suffix == ".m4a" else "flac"
    line = ["ffmpeg", "-v", "error", "-i", wav, "-c:a", coding, "-y", path]
    subprocess.run(list(map(str, line)), check=True, stdin=subprocess.DEVNULL)
    return path


def _changed_once(data: bytes, rng: Random) -> bytes:
    """Cut `data`, flip a bit of it, or remove bytes, at any place."""
    at = rng.randrange(len(data))
    kind = rng.randrange(3)
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
    return data[:at] + data[at + rng.choice((1, 4, 100, 3000)) :]


def _seconds(path: Path) -> float:
    """Return the duration at the rate of the intact recording, whatever its header says."""
    found = soundfile.info(path)
    return found.frames * found.channels / 16000


def _says(said: str) -> bool:
    return any(words in said for words in SAID)

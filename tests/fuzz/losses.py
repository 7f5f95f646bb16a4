"""Damaged recordings: what `qse denoise` writes is the recording, each sound at its time, or it
says that some is missing."""

import resource
from pathlib import Path
from random import Random

import numpy as np
import soundfile

from .mutations import damaged
from .recordings import SECONDS, recordings
from .target import Finding, Target, qse, told

PARTS = ((), (), ("--from", "1"), ("--to", "2"), ("--from", "1", "--to", "3"))
TOLERANCE = 0.11  # seconds
PACKET = {"ALAC_16.caf": 0.26, "lossless.m4a": 0.26}  # seconds, within which no checksum is
WINDOW = 0.25  # seconds
MEMORY = 500 << 10  # KiB, of a child; that of the whole process is bounded by the worker
LONGEST = 20.0  # seconds of one case, and of its sound


class Losses(Target):
    """Recordings of all formats: a third of the cases with changes of any kind, the others as a
    disk, a cable or a card damages them: cut, one bit flipped, a block blank or missing. Half of
    the cases read a part."""

    name = "losses"

    def prepare(self, folder: Path) -> None:
        self.intact = []
        for path in recordings(folder):
            written = path.with_suffix(".read.wav")
            status, said = qse("denoise", path, "-o", written, "--overwrite")
            assert not status, said
            self.intact.append((path, soundfile.read(written, dtype="float32")[0]))

    def run(self, folder: Path, rng: Random) -> None:
        intact, sound = rng.choice(self.intact)
        path = folder / f"damaged{intact.suffix}"
        change = rng.choice((damaged, _worn, _worn))
        path.write_bytes(change(intact.read_bytes(), rng))
        part = rng.choice(PARTS)
        salvage = ["--salvage"] if rng.random() < 0.5 else []
        out = folder / "out.wav"
        begun = _processor_time()
        status, said = qse("denoise", path, "-o", out, *part, *salvage)
        took = _processor_time() - begun  # on a loaded machine, the clock says nothing
        case = f"{intact.name} {change.__name__} {' '.join([*part, *salvage])}"
        if took > LONGEST:
            raise Finding(f"{case} took {took:.0f} s of processor time")
        if resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss > MEMORY:
            raise Finding(f"{case}: a process took more than {MEMORY >> 10} MiB")
        if status:
            self.counts["refused"] += 1
            told(said, path)
            return
        self.counts["written"] += 1
        heard, stated = soundfile.read(out, dtype="float32")
        heard = heard.ravel()
        rate = len(sound) / SECONDS
        if stated != rate:
            return  # a header that states another sample rate is nothing that a check can find
        if len(heard) > LONGEST * rate:
            raise Finding(f"{case} became {len(heard) / rate:.0f} s of sound")
        times = dict(zip(part[::2], map(float, part[1::2]), strict=True))
        begin, end = (int(times.get(*each) * rate) for each in (("--from", 0), ("--to", SECONDS)))
        near = PACKET.get(intact.name, TOLERANCE)
        if "warning" not in said and (what := _difference(heard, sound, begin, end, rate, near)):
            raise Finding(f"{case}, {what} unsaid: {said!r}")


def _difference(
    heard: np.ndarray, sound: np.ndarray, begin: int, end: int, rate: float, near: float
) -> str:
    """Return what `heard` lacks of `sound[begin:end]`, or what stands in it at another time, `near`
    seconds away at least."""
    missing = (end - begin - len(heard)) / rate
    if missing > TOLERANCE:
        return f"{missing:.3f} s missing"
    size = round(WINDOW * rate)
    for at in range(0, min(len(heard), end - begin) - size, size):
        window = heard[at : at + size]
        if _likeness(window, sound[begin + at :][:size]) > 0.5:
            continue
        found = _place(window, sound)
        displaced = (found - begin - at) / rate
        if abs(displaced) > near and _likeness(window, sound[found:][:size]) > 0.8:
            return f"sound of {found / rate:.2f} s stands at {(begin + at) / rate:.2f} s"
    return ""


def _likeness(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b) + 1e-9))


def _place(window: np.ndarray, sound: np.ndarray) -> int:
    """Return the sample of `sound` at which it resembles `window` most."""
    bins = np.fft.rfft(sound) * np.conj(np.fft.rfft(window, len(sound)))
    return int(np.argmax(np.fft.irfft(bins, len(sound))[: len(sound) - len(window) + 1]))


def _worn(data: bytes, rng: Random) -> bytes:
    """Damage one place, seldom two: a third of the places lie in the first 2 KiB, half at the
    begin of a block of 512 bytes."""
    for _ in range(rng.choice((1, 1, 1, 1, 2))):
        at = rng.randrange(max(1, rng.choice((len(data), len(data), min(len(data), 2048)))))
        at -= at % 512 if rng.random() < 0.5 else 0
        size = rng.choice((1, 4, 64, 512, 2048, 4096, 8192, 16384))
        kind = rng.choice(("cut", "flipped", "blank", "missing"))
        if kind == "cut":
            data = data[:at]
        elif kind == "flipped":
            bit = bytes(byte ^ 1 << rng.randrange(8) for byte in data[at : at + 1])
            data = data[:at] + bit + data[at + 1 :]
        else:
            rest = data[at + size :]
            data = data[:at] + bytes(len(data) - at - len(rest)) * (kind == "blank") + rest
    return data


def _processor_time() -> float:
    """Return the seconds that ended child processes have computed."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime

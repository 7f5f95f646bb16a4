"""Prints of recordings, which tell whether two files hold the same recording.

A patch is 0.48 s of the log mel spectrum (24 frames x 32 bands) without the mean of every frame and
band, as a unit vector; two patches of the same recording have a correlation above ALIKE, two whole
recordings above SAME.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import soundfile
import soxr
from numpy.lib.stride_tricks import sliding_window_view

AUDIO = (".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff")
RATE = 16000
FFT = 1024
HOP = 320
PATCH = 24  # frames: 0.48 s
MEL = np.geomspace(1 + 100 / 700, 1 + 7500 / 700, 33)  # 100 to 7500 Hz on the mel scale
BANDS = (700 * (MEL - 1) * FFT / RATE).astype(int)
ALIKE = 0.88  # correlation of two patches that show the same recording
SAME = 0.93  # correlation of two whole recordings of the same length that are copies


def power_spectra(audio: np.ndarray, size: int, hop: int) -> Iterator[np.ndarray]:
    """Yield the power spectra (frames, bins) of a recording, block by block."""
    padded = np.pad(audio, (0, max(0, size - len(audio))))
    frames = sliding_window_view(padded, size)[::hop]
    for i in range(0, len(frames), 2000):
        spec = np.fft.rfft(frames[i : i + 2000] * np.hanning(size))
        yield np.square(np.abs(spec)).astype("float32")


def log_mel(audio: np.ndarray, rate: int) -> np.ndarray:
    """Return the log power (frames, 32 bands) of a recording, 50 frames a second, 60 dB deep."""
    audio = soxr.resample(audio, rate, RATE, quality="HQ")
    audio = np.pad(audio, (0, max(0, FFT + PATCH * HOP - len(audio))))
    blocks = []
    for spectra in power_spectra(audio, FFT, HOP):
        blocks.append(np.add.reduceat(spectra, BANDS, 1)[:, :-1])
    power = np.concatenate(blocks)
    return np.log10(np.maximum(power, power.max() * 1e-6) + 1e-12)


def directions(patches: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return patches without the mean of every row and column as unit vectors, and their lengths.

    patches: (n, a, b). Returns (n, a * b) and (n,).
    """
    patches = patches - patches.mean(1, keepdims=True)
    patches = (patches - patches.mean(2, keepdims=True)).reshape(len(patches), -1)
    length = np.linalg.norm(patches, axis=1, keepdims=True)
    return patches / np.maximum(length, 1.0), length[:, 0]


def patches_of(audio: np.ndarray, rate: int) -> np.ndarray:
    """Return the four most eventful patches of a recording at each of two phases of the frames."""
    found = []
    for shift in (0, rate // 100):
        grid = sliding_window_view(log_mel(audio[shift:], rate), PATCH, axis=0)[::PATCH]
        unit, length = directions(grid)
        found.append(unit[np.argsort(-length)[:4]])
    return np.concatenate(found)


def references(folders: list[Path]) -> dict[str, np.ndarray]:
    """Return {kind: patches that must not occur}; "noise" and "speech" of every recording.

    Folders clean and noisy give noisy minus clean, and clean.
    """
    noise = []
    speech = []
    for folder in folders:
        pairs = (folder / "clean").is_dir() and (folder / "noisy").is_dir()
        for path in (folder / "clean" if pairs else folder).rglob("*"):
            if path.suffix.lower() not in AUDIO:
                continue
            audio, rate = soundfile.read(path, dtype="float32", always_2d=True)
            rest = audio
            if pairs:
                rest = soundfile.read(folder / "noisy" / path.name, always_2d=True)[0] - audio
            noise.append(patches_of(rest.mean(1, dtype="float32"), rate))
            speech.append(patches_of(audio.mean(1), rate))
    if not noise:
        return {}
    return {"noise": np.concatenate(noise), "speech": np.concatenate(speech)}

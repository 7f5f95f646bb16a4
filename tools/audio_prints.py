"""Prints of recordings, which tell whether two files hold the same recording.

A patch is 0.48 s of the log mel spectrum (24 frames x 32 bands) without the mean of every frame and band, as a unit
vector; two patches of the same recording have a correlation above ALIKE, two whole recordings above SAME.
"""

import numpy as np
import soundfile
import soxr
from numpy.lib.stride_tricks import sliding_window_view

AUDIO = (".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff")
RATE, FFT, HOP, PATCH = (
    16000,
    1024,
    320,
    24,
)  # of the prints that recognise a recording; a patch has 0.48 s
BANDS = (700 * (np.geomspace(1 + 100 / 700, 1 + 7500 / 700, 33) - 1) * FFT / RATE).astype(
    int
)  # mel scale
ALIKE = 0.88  # correlation of two patches that show the same recording
SAME = 0.93  # correlation of two whole recordings of the same length that are copies


def power_spectra(audio, size, hop):
    """Yield the power spectra (frames, bins) of a recording, block by block."""
    frames = sliding_window_view(np.pad(audio, (0, max(0, size - len(audio)))), size)[::hop]
    for i in range(0, len(frames), 2000):
        yield np.square(np.abs(np.fft.rfft(frames[i : i + 2000] * np.hanning(size)))).astype(
            "float32"
        )


def log_mel(audio, rate):
    """Return the log power (frames, 32 bands) of a recording, 50 frames a second, 60 dB deep."""
    audio = soxr.resample(audio, rate, RATE, quality="HQ")
    audio = np.pad(audio, (0, max(0, FFT + PATCH * HOP - len(audio))))
    power = np.concatenate(
        [np.add.reduceat(block, BANDS, 1)[:, :-1] for block in power_spectra(audio, FFT, HOP)]
    )
    return np.log10(np.maximum(power, power.max() * 1e-6) + 1e-12)


def directions(patches):
    """Return (n, a, b) patches without the mean of every row and column as unit vectors, and their lengths."""
    patches = patches - patches.mean(1, keepdims=True)
    patches = (patches - patches.mean(2, keepdims=True)).reshape(len(patches), -1)
    length = np.linalg.norm(patches, axis=1, keepdims=True)
    return patches / np.maximum(length, 1.0), length[:, 0]


def patches_of(audio, rate):
    """Return the four most eventful patches of a recording, each at two phases of the frame grid."""
    grids = (
        sliding_window_view(log_mel(audio[shift:], rate), PATCH, axis=0)[::PATCH]
        for shift in (0, rate // 100)
    )
    return np.concatenate(
        [unit[np.argsort(-length)[:4]] for unit, length in map(directions, grids)]
    )


def references(folders):
    """Return {kind: patches that must not occur}; folders clean and noisy give noisy minus clean, and clean."""
    found = {"noise": [], "speech": []}
    for folder in folders:
        pairs = (folder / "clean").is_dir() and (folder / "noisy").is_dir()
        for path in (
            p
            for p in (folder / "clean" if pairs else folder).rglob("*")
            if p.suffix.lower() in AUDIO
        ):
            audio, rate = soundfile.read(path, dtype="float32", always_2d=True)
            noise = (
                soundfile.read(folder / "noisy" / path.name, always_2d=True)[0] - audio
                if pairs
                else audio
            )
            found["noise"].append(patches_of(noise.mean(1, dtype="float32"), rate))
            found["speech"].append(patches_of(audio.mean(1), rate))
    return {kind: np.concatenate(patches) for kind, patches in found.items() if patches}

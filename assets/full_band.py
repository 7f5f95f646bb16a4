"""Generate assets/noisy-48k.flac; draw it, and what qse makes of it, as assets/full-band.png.

    apt-get install flite
    python assets/full_band.py             # both
    python assets/full_band.py --picture   # the picture alone, as after a release of new models

The sound holds no recording. The voice (flite) ends at 8 kHz; above that, generated noise follows
the level of the voice from 4.5 to 7.8 kHz, as in real sibilants. Before each sentence there is a
generated breath. The noise is a fan, hiss to 24 kHz, hum, and a metallic clatter like that of
cymbals; the SNR is 8 dB.
"""

import sys
from pathlib import Path

import numpy as np
import soundfile
import soxr
from make import synthesise
from PIL import Image
from scipy import signal

import qse
from qse.evaluate.plot import plot_spectrograms

RATE = 48000
VOICE_RATE = 16000
HERE = Path(__file__).parent
SOUND = HERE / "noisy-48k.flac"
PICTURE = HERE / "full-band.png"
SENTENCES = ("She sells sea shells this season.", "Sixty six fresh fish, please.")
SNR = 8.0  # dB


def band(noise: np.ndarray, low: float, high: float, order: int = 2) -> np.ndarray:
    """Return (samples,) band-limited to `low` to `high` Hz."""
    sections = signal.butter(order, (low, high), "bandpass", fs=RATE, output="sos")
    return signal.sosfilt(sections, noise)


def envelope(audio: np.ndarray, seconds: float = 0.008) -> np.ndarray:
    """Return the RMS of (samples,) over `seconds`."""
    window = np.hanning(round(seconds * RATE))
    return np.sqrt(np.convolve(audio**2, window / window.sum(), "same").clip(0))


def voice(rng: np.random.Generator) -> np.ndarray:
    """Return the sentences, each after a breath, with sibilants up to 22 kHz."""
    parts = []
    for sentence in SENTENCES:
        speech = soxr.resample(synthesise(sentence, "slt"), VOICE_RATE, RATE)
        noise = rng.standard_normal(len(speech))
        hiss = band(noise, 7500, 15000, 1) + 0.3 * band(noise, 15000, 22000, 1)
        speech = speech + 1.5 * envelope(band(speech, 4500, 7800)) * hiss / hiss.std()

        begin = round(0.08 * RATE)
        length = round(0.35 * RATE)
        breath = band(rng.standard_normal(length), 900, 12000, 1) * np.hanning(length) ** 2
        speech[begin : begin + length] += 0.02 * breath / breath.std()
        parts.append(speech)
    return np.concatenate(parts)


def clatter(samples: int, rng: np.random.Generator) -> np.ndarray:
    """Return strokes of metal: sums of many high partials that fade within a fifth of a second."""
    time = np.arange(round(0.5 * RATE)) / RATE
    sound = np.zeros(samples + RATE)
    for start in rng.integers(0, samples, samples // RATE * 2):
        partials = rng.uniform(3000, 20000, 60)
        stroke = np.sin(2 * np.pi * partials[:, None] * time + rng.uniform(0, 6, (60, 1))).sum(0)
        sound[start : start + len(time)] += stroke * np.exp(-time / 0.07)
    return sound[:samples]


def noise(samples: int, rng: np.random.Generator) -> np.ndarray:
    """Return fan, hiss, hum and clatter at their levels."""
    time = np.arange(samples) / RATE
    fan = signal.lfilter([1], [1, -0.97], rng.standard_normal(samples))
    hum = sum(np.sin(2 * np.pi * 50 * k * time) / k for k in range(1, 13))
    sources = (
        (fan, 0.0),
        (rng.standard_normal(samples), -9.0),
        (hum, -6.0),
        (clatter(samples, rng), -9.0),
    )
    return sum(source / source.std() * 10 ** (level / 20) for source, level in sources)


def make() -> None:
    """Write SOUND."""
    rng = np.random.default_rng(0)
    speech = voice(rng)
    behind = noise(len(speech), rng)
    noisy = speech + behind * speech.std() / behind.std() / 10 ** (SNR / 20)
    soundfile.write(SOUND, 0.7 * noisy / np.abs(noisy).max(), RATE, subtype="PCM_16")


def draw() -> None:
    """Write PICTURE, in 256 colours."""
    noisy, rate = soundfile.read(SOUND, dtype="float32")
    enhanced = qse.denoise(noisy, rate)
    plot_spectrograms([("before", noisy, rate), ("after qse denoise", enhanced, rate)], PICTURE)
    with Image.open(PICTURE) as picture:
        small = picture.convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE)
    small.save(PICTURE, optimize=True)


if __name__ == "__main__":
    if "--picture" not in sys.argv[1:]:
        make()
    draw()

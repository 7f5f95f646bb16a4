"""Measure the gain of models for sustained sounds, and the level that they leave of noise alone.

    python assets/steady.py live-base live-tiny

The sounds last three seconds: vowels (to be kept) and tones (to be removed). Prints the level of
the output relative to the input, in dB, in the first and in the last second: in silence, and with
white noise 20 dB below. Vowels are harmonics with vibrato and the formants of an open a. Then
prints the level of the output in dBFS for ten seconds of noise at -50 dBFS.
"""

import sys

import numpy as np

import qse

RATE = 16000
SECONDS = 3
LEVEL = -25  # dBFS
FORMANTS = ((800, 80), (1150, 90), (2900, 120), (3900, 130))  # Hz, bandwidth in Hz
TIME = np.arange(SECONDS * RATE) / RATE


def vowel(pitch: float) -> np.ndarray:
    phase = np.cumsum(pitch * (1 + 0.02 * np.sin(2 * np.pi * 5.5 * TIME))) / RATE
    harmonics = []
    for k in range(1, int(7500 / pitch)):
        harmonics.append(np.sin(2 * np.pi * k * phase) * _loudness(k * pitch) / k)
    return np.sum(harmonics, axis=0)


def _loudness(frequency: float) -> float:
    """Return the gain of the formants at a frequency."""
    gain = 1.0
    for formant, width in FORMANTS:
        gain *= formant**2 / abs(formant**2 - frequency**2 + 1j * width * frequency)
    return gain


def sounds() -> dict[str, np.ndarray]:
    """Return three seconds each of vowels and of tones."""
    found = {}
    for pitch in (120, 200, 300, 350, 400, 450, 500):
        found[f"vowel, {pitch} Hz"] = vowel(pitch)
    found["tone, 1000 Hz"] = np.sin(2 * np.pi * 1000 * TIME)
    found["dial tone, 425 Hz"] = np.sin(2 * np.pi * 425 * TIME)
    alarm = np.where(TIME % 0.5 < 0.25, 800, 1000)  # Hz
    found["alarm, 800 and 1000 Hz"] = np.sin(2 * np.pi * np.cumsum(alarm) / RATE)
    siren = 1000 + 500 * np.sin(2 * np.pi * 0.4 * TIME)  # Hz
    found["siren, 500 to 1500 Hz"] = np.sin(2 * np.pi * np.cumsum(siren) / RATE)
    return found


def main(models: list[str]) -> None:
    fade = np.minimum(1, np.minimum(TIME, SECONDS - TIME) / 0.1)
    white = 10 ** ((LEVEL - 20) / 20) * np.random.default_rng(0).standard_normal(len(TIME) + RATE)
    print("| model | sound | in silence | with noise |\n|---|---|---|---|")
    engines = {model: qse.load(model) for model in models}
    for model, engine in engines.items():
        for name, sound in sounds().items():
            sound = fade * sound * 10 ** (LEVEL / 20) / np.sqrt(np.mean(sound**2))
            sound = np.pad(sound, RATE // 2)
            alone = _gains(sound, qse.denoise(sound, RATE, engine))
            in_noise = _gains(sound, qse.denoise(sound + white, RATE, engine))
            print(f"| {model} | {name} | {alone} | {in_noise} |")
    print("\n| model | noise | level |\n|---|---|---|")
    for model, engine in engines.items():
        for name, noise in noises().items():
            enhanced = qse.denoise(noise, RATE, engine)
            print(f"| {model} | {name} | {10 * np.log10(np.mean(enhanced**2)):.1f} |")


def noises() -> dict[str, np.ndarray]:
    """Return ten seconds each of white and of pink noise at -50 dBFS.

    The power of pink noise falls by 3 dB per octave.
    """
    rng = np.random.default_rng(0)
    white, other = rng.standard_normal((2, 10 * RATE))
    spectrum = np.fft.rfft(other)
    pink = np.fft.irfft(spectrum / np.sqrt(np.maximum(np.arange(len(spectrum)), 1)), len(other))
    return {"white noise at -50 dBFS": _at(-50, white), "pink noise at -50 dBFS": _at(-50, pink)}


def _at(level: float, audio: np.ndarray) -> np.ndarray:
    """Return (samples,) at a level in dBFS."""
    return 10 ** (level / 20) * audio / np.sqrt(np.mean(audio**2))


def _gains(before: np.ndarray, after: np.ndarray) -> str:
    """Return the level of `after` relative to `before` in the first and in the last second."""
    levels = []
    for second in (0, SECONDS - 1):
        start = RATE // 2 + RATE * second
        part = slice(start, start + RATE)
        level = 10 * np.log10(np.mean(after[part] ** 2) / np.mean(before[part] ** 2))
        levels.append(f"{level:z.1f}")
    return ", ".join(levels)


if __name__ == "__main__":
    main(sys.argv[1:])

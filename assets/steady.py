"""Measure the gain of models for sustained sounds of three seconds, vowels (to be kept) and tones (to be removed), and
the level that they leave of noise alone.

    python assets/steady.py live-base live-tiny

Prints the level of the output relative to the input, in dB, in the first and in the last second: in silence, and with
white noise 20 dB below. Vowels are harmonics with vibrato and the formants of an open a. Then prints the level of the
output in dBFS for ten seconds of noise at -50 dBFS.
"""

import sys

import numpy as np

import qse

RATE, SECONDS, LEVEL = 16000, 3, -25  # Hz, s, dBFS
FORMANTS = ((800, 80), (1150, 90), (2900, 120), (3900, 130))  # Hz, bandwidth in Hz
TIME = np.arange(SECONDS * RATE) / RATE


def vowel(pitch: float) -> np.ndarray:
    phase = np.cumsum(pitch * (1 + 0.02 * np.sin(2 * np.pi * 5.5 * TIME))) / RATE
    harmonics = [
        np.sin(2 * np.pi * k * phase) * _loudness(k * pitch) / k
        for k in range(1, int(7500 / pitch))
    ]
    return np.sum(harmonics, axis=0)


def _loudness(frequency: float) -> float:
    return float(
        np.prod([f**2 / abs(f**2 - frequency**2 + 1j * width * frequency) for f, width in FORMANTS])
    )


SOUNDS = {
    **{f"vowel, {pitch} Hz": vowel(pitch) for pitch in (120, 200, 300, 350, 400, 450, 500)},
    "tone, 1000 Hz": np.sin(2 * np.pi * 1000 * TIME),
    "dial tone, 425 Hz": np.sin(2 * np.pi * 425 * TIME),
    "alarm, 800 and 1000 Hz": np.sin(
        2 * np.pi * np.cumsum(np.where(TIME % 0.5 < 0.25, 800, 1000)) / RATE
    ),
    "siren, 500 to 1500 Hz": np.sin(
        2 * np.pi * np.cumsum(1000 + 500 * np.sin(2 * np.pi * 0.4 * TIME)) / RATE
    ),
}


def main(models: list[str]) -> None:
    fade = np.minimum(1, np.minimum(TIME, SECONDS - TIME) / 0.1)
    white = 10 ** ((LEVEL - 20) / 20) * np.random.default_rng(0).standard_normal(len(TIME) + RATE)
    print("| model | sound | in silence | with noise |\n|---|---|---|---|")
    engines = {model: qse.load(model) for model in models}
    for model, engine in engines.items():
        for name, sound in SOUNDS.items():
            sound = fade * sound * 10 ** (LEVEL / 20) / np.sqrt(np.mean(sound**2))
            sound = np.pad(sound, RATE // 2)
            gains = [
                _gains(sound, qse.denoise(sound + noise, RATE, engine))
                for noise in (0 * white, white)
            ]
            print(f"| {model} | {name} | {gains[0]} | {gains[1]} |")
    print("\n| model | noise | level |\n|---|---|---|")
    for model, engine in engines.items():
        for name, noise in noises().items():
            enhanced = qse.denoise(noise, RATE, engine)
            print(f"| {model} | {name} | {10 * np.log10(np.mean(enhanced**2)):.1f} |")


def noises() -> dict[str, np.ndarray]:
    """Return ten seconds each of white and of pink noise (power falling by 3 dB per octave) at -50 dBFS."""
    rng = np.random.default_rng(0)
    white, other = rng.standard_normal((2, 10 * RATE))
    spectrum = np.fft.rfft(other)
    pink = np.fft.irfft(spectrum / np.sqrt(np.maximum(np.arange(len(spectrum)), 1)), len(other))
    alone = {"white noise at -50 dBFS": white, "pink noise at -50 dBFS": pink}
    return {
        name: 10 ** (-50 / 20) * noise / np.sqrt(np.mean(noise**2)) for name, noise in alone.items()
    }


def _gains(before: np.ndarray, after: np.ndarray) -> str:
    first, last = (
        slice(RATE // 2 + RATE * k, RATE // 2 + RATE * (k + 1)) for k in (0, SECONDS - 1)
    )
    levels = (
        10 * np.log10(np.mean(after[s] ** 2) / np.mean(before[s] ** 2)) for s in (first, last)
    )
    return ", ".join(f"{level:z.1f}" for level in levels)


if __name__ == "__main__":
    main(sys.argv[1:])

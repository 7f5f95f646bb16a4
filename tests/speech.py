"""Sounds for the tests of evaluation, the same on every machine: no random generator, no file."""

import numpy as np

SAMPLE_RATE = 16000


def hiss(samples: int, start: int = 12345) -> np.ndarray:
    """White noise in [-1, 1]: a linear congruential generator, written out."""
    values = np.empty(samples)
    state = start
    for place in range(samples):
        state = (1103515245 * state + 12345) % 2**31
        values[place] = state / 2**30 - 1
    return values


def voice(seconds: float = 2.0, pitch: float = 120.0, start: int = 1) -> np.ndarray:
    """Something that PESQ takes for speech: harmonics under two formants, in syllables, over a
    faint hiss."""
    time = np.arange(int(seconds * SAMPLE_RATE)) / SAMPLE_RATE
    phase = 2 * np.pi * np.cumsum(pitch + 20 * np.sin(2 * np.pi * 1.3 * time)) / SAMPLE_RATE
    tone = np.zeros_like(time)
    for harmonic in range(1, 40):
        centre = harmonic * pitch
        gain = (
            1 / (1 + ((centre - 600) / 150) ** 2) + 0.5 / (1 + ((centre - 1800) / 200) ** 2) + 0.02
        )
        tone += gain * np.sin(harmonic * phase)
    syllables = np.clip(np.sin(2 * np.pi * 2.1 * time), 0, 1) ** 0.5
    return 0.1 * tone * syllables + 1e-3 * hiss(len(time), start)

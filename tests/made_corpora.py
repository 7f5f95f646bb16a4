"""Made-up corpora whose groups a Fourier transform tells apart, and mixers of them."""

import dataclasses

import numpy as np
import torch

from qse.data.corpus import Corpus
from qse.data.mix_config import MixConfig
from qse.data.noise_mixing import NoiseMixer

RATE = 16000
CHANCES = [field.name for field in dataclasses.fields(MixConfig) if field.name.endswith("_chance")]
PLAIN = MixConfig(segment=1.0, rooms=2, level=(-40.0, 0.0), **dict.fromkeys(CHANCES, 0.0))


def sine(hertz: float, seconds: float, amplitude: float = 0.3) -> np.ndarray:
    return np.rint(
        32767 * amplitude * np.sin(2 * np.pi * hertz * np.arange(round(seconds * RATE)) / RATE)
    ).astype("i2")


def tone(audio: torch.Tensor, hertz: float, rate: int = RATE) -> float:
    """Return the amplitude of a tone, over a window that holds whole periods of all of them."""
    samples = np.arange(len(audio))
    return abs(2 * np.mean(audio.numpy() * np.exp(-2j * np.pi * hertz / rate * samples)))


def white(seconds: float, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 3000, round(seconds * RATE)).astype("i2")


def speech_corpus() -> Corpus:
    """Three speakers: tones of 500, 1500 and 3000 Hz;
    utterances shorter and longer than a segment."""
    utterances = []
    for hertz in (500, 1500, 3000):
        utterances += [sine(hertz, 0.4), sine(hertz, 3.0)] * 2
    return Corpus.of(utterances, list("aaaabbbbcccc"))


def noise_corpus() -> Corpus:
    return Corpus.of([white(0.3, 1), white(2.0, 2), white(0.01, 3)], ["short", "long", "tiny"])


def mixer(config: MixConfig = PLAIN, seed: int = 0) -> NoiseMixer:
    return NoiseMixer(config, speech_corpus(), noise_corpus(), seed)


def only(**chances) -> MixConfig:
    return dataclasses.replace(PLAIN, **chances)


def snr(noisy: torch.Tensor, clean: torch.Tensor) -> np.ndarray:
    """Return the SNRs in dB, with levels from frames of 20 ms within 40 dB of the loudest, in
    NumPy."""

    def level(audio):
        power = (audio.double().numpy().reshape(-1, 320) ** 2).mean(1)
        return power[power >= power.max() * 1e-4].mean()

    return np.array(
        [10 * np.log10(level(c) / level(n - c)) for n, c in zip(noisy, clean, strict=True)]
    )

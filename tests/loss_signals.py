"""Speech-like signals and noise for the tests of losses, and the losses by name."""

import numpy as np

from qse.losses.pesq_loss import pesq
from qse.losses.spectral import complex_l1, compressed_spectrum, multi_resolution_stft
from qse.losses.stoi_loss import stoi
from qse.losses.suppression import over_attenuation
from qse.losses.waveform import rms, si_sdr, snr

LOSSES = {
    "mrstft": multi_resolution_stft,
    "si_sdr": si_sdr,
    "snr": snr,
    "rms": rms,
    "complex_l1": complex_l1,
    "pesq": pesq,
    "compressed": compressed_spectrum,
    "stoi": stoi,
    "over_attenuation": over_attenuation,
}


def speech_like(seed: int, seconds: float = 2.0) -> np.ndarray:
    """Voiced syllables (harmonics through three moving resonances), hisses and pauses at 16 kHz,
    RMS 0.05."""
    rng = np.random.default_rng(seed)
    voice = rng.uniform(90, 220)
    parts = []
    while sum(map(len, parts)) < seconds * 16000:
        length = int(rng.integers(1600, 4000))
        time = np.arange(length) / 16000
        pitch = (
            2
            * np.pi
            * np.cumsum(voice * (1 + 0.1 * np.sin(2 * np.pi * 3 * time + rng.uniform(0, 6))))
            / 16000
        )
        formants = rng.uniform((300, 900, 2300), (800, 2200, 3500))
        syllable = np.zeros(length)
        for k in range(1, int(7500 / voice)):
            gain = sum(1 / (1 + ((k * voice - formant) / 120) ** 2) for formant in formants) + 0.01
            syllable += gain / k**0.5 * np.cos(k * pitch + k)
        hiss = np.diff(rng.standard_normal(length // 3 + 1)) * 0.3
        parts += [
            syllable * np.hanning(length),
            hiss * np.hanning(len(hiss)),
            np.zeros(int(rng.integers(0, 2400))),
        ]
    audio = np.concatenate(parts)[: int(seconds * 16000)] + 1e-4 * rng.standard_normal(
        int(seconds * 16000)
    )
    return 0.05 * audio / np.sqrt(np.mean(audio**2))


def coloured_noise(seed: int, slope: float, like: np.ndarray, snr: float) -> np.ndarray:
    """Noise with power ~ 1 / f^slope at `snr` dB below `like`."""
    rng = np.random.default_rng(seed)
    spec = np.fft.rfft(rng.standard_normal(len(like)))
    noise = np.fft.irfft(spec / np.arange(1, len(spec) + 1) ** (slope / 2), len(like))
    return noise * np.sqrt(np.mean(like**2) / np.mean(noise**2)) * 10 ** (-snr / 20)

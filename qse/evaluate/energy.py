"""Compute metrics of energies and spectra of one channel, at any sample rate.

SI-SDR and its improvement, log-spectral distance, SNR in the upper band, attenuation, speech loss.

X, Y, E are the STFTs of clean, noisy and enhanced (Hann window of 32 ms every 8 ms), N = Y - X
that of the noise. Ratios in dB are limited to +-LIMIT, so that a mean over utterances stays finite.
"""

from collections.abc import Iterator

import numpy as np

LIMIT = 100.0  # dB
WINDOW = 0.032  # seconds
HOPS_PER_WINDOW = 4
FRAMES_AT_ONCE = 1000  # frames in memory at a time
UPPER_BAND = (8000.0, 20000.0)  # Hz: what a network for 16 kHz cannot produce
NOISE_ONLY = -30.0  # dB: highest clean-to-noise ratio of a bin that counts as noise alone
PAUSE = -45.0  # dB below the loudest frame: highest level of a clean frame that counts as a pause
SPEECH_DOMINATED = 10.0  # dB: lowest clean-to-noise ratio of a bin that counts as speech
LEAST_POWER = 1e-8  # of a bin in the log-spectral distance: about the rounding of 16-bit samples


def si_sdr(*, clean: np.ndarray, enhanced: np.ndarray, sample_rate: int = 16000) -> float:
    """Return the scale-invariant signal-to-distortion ratio in dB; no mean is removed.

    The signal is the projection of `enhanced` on `clean`, the distortion is the rest (Le Roux et
    al. 2019, Eqs. 3-5). `sample_rate` is not used.
    """
    clean = np.asarray(clean, np.float64)
    enhanced = np.asarray(enhanced, np.float64)

    target = clean * (enhanced @ clean) / (clean @ clean)
    rest = enhanced - target
    least = 10 ** (-LIMIT / 10) * (enhanced @ enhanced)
    return float(10 * np.log10(max(target @ target, least) / max(rest @ rest, least)))


def si_sdr_improvement(
    *, clean: np.ndarray, enhanced: np.ndarray, noisy: np.ndarray, sample_rate: int = 16000
) -> float:
    """Return the SI-SDR of `enhanced` minus that of `noisy`, in dB; 0 for the noisy signal."""
    before = si_sdr(clean=clean, enhanced=noisy, sample_rate=sample_rate)
    return si_sdr(clean=clean, enhanced=enhanced, sample_rate=sample_rate) - before


def log_spectral_distance(*, clean: np.ndarray, enhanced: np.ndarray, sample_rate: int) -> float:
    """Return the log-spectral distance in dB, 0 (equal) and up: the mean over frames of a frame's.

    That of a frame is the root of the mean over bins of (10 lg |X|^2 - 10 lg |E|^2)^2, each power
    at least LEAST_POWER for samples in [-1, 1]. The level of `enhanced` is not adapted.
    """
    frames = []
    for powers in power_spectra(sample_rate, clean, enhanced):
        levels = 10 * np.log10(np.maximum(powers, LEAST_POWER))
        frames.append(np.sqrt(np.square(levels[0] - levels[1]).mean(1)))
    return float(np.concatenate(frames).mean())


def band_snr(*, clean: np.ndarray, enhanced: np.ndarray, sample_rate: int) -> float:
    """Return the SNR in dB of the bins from 8 to 20 kHz: 10 lg(sum |X|^2 / sum |E - X|^2).

    NaN if `clean` has no energy there. ValueError for a sample rate below 40 kHz.
    """
    low, high = UPPER_BAND
    if sample_rate < 2 * high:
        covered = f"{low / 1000:g} to {high / 1000:g} kHz"
        raise ValueError(f"band_snr covers {covered}: it needs at least {2 * high:g} Hz")

    kept = 0.0
    lost = 0.0
    for x, error in power_spectra(sample_rate, clean, np.asarray(enhanced, np.float64) - clean):
        frequency = np.linspace(0, sample_rate / 2, x.shape[1])
        band = (frequency >= low) & (frequency <= high)
        kept += x[:, band].sum()
        lost += error[:, band].sum()
    return decibels(kept, lost)


def noise_reduction(
    *, clean: np.ndarray, enhanced: np.ndarray, noisy: np.ndarray, sample_rate: int
) -> float:
    """Return by how many dB `enhanced` is below `noisy` in bins of noise alone.

    That is 10 lg(sum |Y|^2 / sum |E|^2) over the bins with 10 lg(|X|^2 / |N|^2) <= NOISE_ONLY; NaN
    if there are none. 0 for the noisy signal.
    """
    noise = np.asarray(noisy, np.float64) - clean
    before = 0.0
    after = 0.0
    for x, y, e, n in power_spectra(sample_rate, clean, noisy, enhanced, noise):
        bins = (x <= 10 ** (NOISE_ONLY / 10) * n) & (n > 0)
        before += y[bins].sum()
        after += e[bins].sum()
    return decibels(before, after)


def speech_loss(
    *, clean: np.ndarray, enhanced: np.ndarray, noisy: np.ndarray, sample_rate: int
) -> float:
    """Return the share in percent of clean energy that `enhanced` lacks.

    That is 100 sum max(0, |X|^2 - |E|^2) / sum |X|^2 over the bins with 10 lg(|X|^2 / |N|^2) >=
    SPEECH_DOMINATED; NaN if there are none. 0 for a perfect output; the noisy signal has a few
    percent, where noise and speech cancel. A lower level counts as loss.
    """
    noise = np.asarray(noisy, np.float64) - clean
    lost = 0.0
    total = 0.0
    for x, e, n in power_spectra(sample_rate, clean, enhanced, noise):
        bins = (x >= 10 ** (SPEECH_DOMINATED / 10) * n) & (x > 0)
        lost += np.maximum(x - e, 0)[bins].sum()
        total += x[bins].sum()
    return 100 * lost / total if total else np.nan


def pause_attenuation(
    *, clean: np.ndarray, enhanced: np.ndarray, noisy: np.ndarray, sample_rate: int
) -> dict[str, float]:
    """Return by how many dB `enhanced` is below `noisy` in pauses: in energy, and the median frame.

    A pause is a frame of 32 ms whose clean energy is at least 45 dB below that of the loudest
    frame. Frames in which `noisy` is silent do not count; NaN if none is left. 0 for the noisy
    signal.
    """
    x, y, e = frame_powers(sample_rate, clean, noisy, enhanced)
    pauses = pauses_of(x, y)
    before = y[pauses]
    after = e[pauses]
    frames = list(map(decibels, before, after))
    return {
        "pause_attenuation": decibels(before.sum(), after.sum()),
        "pause_attenuation_median": float(np.median(frames)) if frames else np.nan,
    }


def pauses_of(clean: np.ndarray, noisy: np.ndarray) -> np.ndarray:
    """Return which frames are pauses in which `noisy` has sound, bool (frames,), by their powers
    (frames,)."""
    return (clean <= 10 ** (PAUSE / 10) * clean.max()) & (noisy > 0)


def frame_powers(sample_rate: int, *signals: np.ndarray) -> np.ndarray:
    """Return the power of each frame of the signals (samples,): (signals, frames)."""
    chunks = [powers.sum(2) for powers in power_spectra(sample_rate, *signals)]
    return np.concatenate(chunks, axis=1)


def power_spectra(sample_rate: int, *signals: np.ndarray) -> Iterator[np.ndarray]:
    """Yield |STFT|^2 of the signals (samples,): (signals, T, F), T up to FRAMES_AT_ONCE."""
    for parts in spectra(sample_rate, *signals):
        yield np.square(np.abs(parts))


def spectra(sample_rate: int, *signals: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the STFT of the signals (samples,): (signals, T, F), T up to FRAMES_AT_ONCE."""
    n_fft = 2 * round(WINDOW * sample_rate / 2)
    hop_length = n_fft // HOPS_PER_WINDOW
    window = np.hanning(n_fft + 1)[:-1]

    half = n_fft // 2
    padded = np.pad(np.asarray(signals, np.float64), ((0, 0), (half, half)))
    views = np.lib.stride_tricks.sliding_window_view(padded, n_fft, axis=1)
    frames = views[:, ::hop_length]
    for start in range(0, frames.shape[1], FRAMES_AT_ONCE):
        yield np.fft.rfft(frames[:, start : start + FRAMES_AT_ONCE] * window)


def decibels(over: float, under: float) -> float:
    """Return 10 lg(over / under) within +-LIMIT; NaN if `over` is 0."""
    if over == 0:
        return np.nan
    least = 10 ** (-LIMIT / 10)
    return float(10 * np.log10(max(over, least * under) / max(under, least * over)))

"""Compute the composite measures CSIG, CBAK and COVL, and the distances that they come from.

N frames of 30 ms, every 7.5 ms, Hann window; P order of the linear prediction; K = 25 critical
bands

Hu and Loizou, "Evaluation of objective quality measures for speech enhancement", IEEE TASLP 16(1),
2008: CSIG, CBAK and COVL are linear in PESQ, the log-likelihood ratio (LLR), Klatt's weighted
spectral slope (WSS, ICASSP 1982) and the segmental SNR. Signals in [-1, 1], the 5 % worst frames of
LLR and WSS left out, wide-band PESQ as MOS-LQO. The values are those of pysepm 0.1, which follows
Loizou's MATLAB code, on files without digital silence in the clean signal: see `llr`.

Published tables of VoiceBank+DEMAND use two scripts. They differ in WSS alone: the script that came
with the conformer GANs (CMGAN and its successors) divides each frame by WSS_SCRIPT_SCALE = 32768
although samples are within [-1, 1] already, so that the floor of -100 dB covers quiet bands. WSS is
then lower, and CSIG, CBAK and COVL are higher, by 0.2 to 0.3 on average for speech in noise.
`scale=WSS_SCRIPT_SCALE` reproduces it.
"""

from typing import Any

import numpy as np

from .perceptual import pesq_wb

EPS = np.finfo(np.float64).eps
KEPT = 0.95  # share of the frames, the best ones, that LLR and WSS average
PREDICTION_ORDER = 16
WORST_RATIO = 1000.0  # in place of a likelihood ratio that rounding made impossible
WSS_SCRIPT_SCALE = 32768.0  # divides the frames inside WSS in the script of the conformer GANs
SILENCE = 2.0**-16  # samples below this are digital silence: zero in a file of 16 bits
BANDS = (  # centre and width of the critical bands, in Hz
    (50, 70),
    (120, 70),
    (190, 70),
    (260, 70),
    (330, 70),
    (400, 70),
    (470, 70),
    (540, 77.3724),
    (617.372, 86.0056),
    (703.378, 95.3398),
    (798.717, 105.411),
    (904.128, 116.256),
    (1020.38, 127.914),
    (1148.30, 140.423),
    (1288.72, 153.823),
    (1442.54, 168.154),
    (1610.70, 183.457),
    (1794.16, 199.776),
    (1993.93, 217.153),
    (2211.08, 235.631),
    (2446.71, 255.255),
    (2701.97, 276.072),
    (2978.04, 298.126),
    (3276.17, 321.465),
    (3597.63, 346.136),
)


def ratings(*, pesq_wb: float, llr: float, wss: float, segmental_snr: float) -> dict[str, float]:
    """Return csig, cbak and covl, each 1 to 5, by the published regression."""
    scores = {
        "csig": 3.093 - 1.029 * llr + 0.603 * pesq_wb - 0.009 * wss,
        "cbak": 1.634 + 0.478 * pesq_wb - 0.007 * wss + 0.063 * segmental_snr,
        "covl": 1.594 + 0.805 * pesq_wb - 0.512 * llr - 0.007 * wss,
    }
    return {name: float(np.clip(score, 1, 5)) for name, score in scores.items()}


def composite(
    *, clean: np.ndarray, enhanced: np.ndarray, sample_rate: int = 16000, wss_scale: float = 1.0
) -> dict[str, float]:
    """Return csig, cbak, covl, and what they are made of: pesq_wb, llr, wss, segmental_snr.

    wss_scale: see `wss`.
    """
    pair: dict[str, Any] = {"clean": clean, "enhanced": enhanced, "sample_rate": sample_rate}
    parts = {
        "pesq_wb": pesq_wb(**pair),
        "llr": llr(**pair),
        "wss": wss(**pair, scale=wss_scale),
        "segmental_snr": segmental_snr(**pair),
    }
    return parts | ratings(**parts)


def composite_scaled(
    *, clean: np.ndarray, enhanced: np.ndarray, sample_rate: int = 16000
) -> dict[str, float]:
    """Return csig_scaled, cbak_scaled, covl_scaled: with WSS as in the conformer GANs' script."""
    found = composite(
        clean=clean, enhanced=enhanced, sample_rate=sample_rate, wss_scale=WSS_SCRIPT_SCALE
    )
    return {f"{name}_scaled": found[name] for name in ("csig", "cbak", "covl")}


def segmental_snr(*, clean: np.ndarray, enhanced: np.ndarray, sample_rate: int) -> float:
    """Return the mean over frames of the SNR in dB, each within -10 to 35 dB.

    Hansen and Pellom 1998.
    """
    signal = np.square(frames(clean, sample_rate)).sum(-1)  # N
    error = np.asarray(clean, np.float64) - enhanced
    rest = np.square(frames(error, sample_rate)).sum(-1)
    return float(np.clip(10 * np.log10(signal / (rest + EPS) + EPS), -10, 35).mean())


def llr(*, clean: np.ndarray, enhanced: np.ndarray, sample_rate: int) -> float:
    """Return the log-likelihood ratio of the all-pole models of both signals, 0 (equal) and up.

    Frames in which `clean` is digital silence have no all-pole model and are left out. Published
    scripts give them nan, or a value that rounding decides, so that 10 % of digital silence can
    raise LLR by 1. ValueError if no frame is left.
    """
    loudest = np.abs(frames(clean, sample_rate, windowed=False)).max(axis=1)
    voiced = loudest >= SILENCE
    if not voiced.any():
        raise ValueError("LLR has no score: the clean signal is digital silence")
    clean_lags = autocorrelation(frames(clean, sample_rate, EPS)[voiced])  # N P+1
    enhanced_lags = autocorrelation(frames(enhanced, sample_rate, EPS)[voiced])
    with np.errstate(all="ignore"):
        wrong = prediction_error(levinson(enhanced_lags), clean_lags)
        ratio = wrong / prediction_error(levinson(clean_lags), clean_lags)
    possible = np.isfinite(ratio) & (ratio > 0)
    return best_frames(np.log(np.where(possible, ratio, WORST_RATIO)))


def wss(*, clean: np.ndarray, enhanced: np.ndarray, sample_rate: int, scale: float = 1.0) -> float:
    """Return the weighted spectral slope distance, 0 and up.

    That is the squared difference of the slopes from band to band in dB. scale: frames are divided
    by it first; WSS_SCRIPT_SCALE for the numbers of the conformer GANs' script.
    """
    clean_bands = band_levels(clean, sample_rate, scale)  # N K
    enhanced_bands = band_levels(enhanced, sample_rate, scale)
    weight = (slope_weights(clean_bands) + slope_weights(enhanced_bands)) / 2  # N K-1
    distance = np.square(np.diff(clean_bands) - np.diff(enhanced_bands))
    return best_frames((weight * distance).sum(-1) / weight.sum(-1))


def frames(
    audio: np.ndarray, sample_rate: int, offset: float = 0.0, windowed: bool = True
) -> np.ndarray:
    """Return the frames (N, 30 ms) of audio + offset, without the last complete one, as
    published."""
    length = round(0.03 * sample_rate)
    step = length // 4
    count = (len(audio) - length) // step
    if count < 1:
        raise ValueError(f"too short for frames of 30 ms: {len(audio)} samples")

    signal = np.asarray(audio, np.float64) + offset
    view = np.lib.stride_tricks.sliding_window_view(signal, length)[: count * step : step]
    if not windowed:
        return view
    phase = 2 * np.pi * np.arange(1, length + 1) / (length + 1)
    return view * (0.5 - 0.5 * np.cos(phase))


def best_frames(distance: np.ndarray) -> float:
    """Return the mean over the KEPT share of the frames with the smallest distance."""
    return float(np.sort(distance)[: round(len(distance) * KEPT)].mean())


def autocorrelation(x: np.ndarray) -> np.ndarray:
    """Return lags 0 to P of each frame: (N, samples) -> (N, P+1)."""
    length = x.shape[1]
    lags = []
    for k in range(PREDICTION_ORDER + 1):
        products = x[:, : length - k] * x[:, k:]
        lags.append(products.sum(-1))
    return np.stack(lags, axis=-1)


def levinson(lags: np.ndarray) -> np.ndarray:
    """Return the whitening filters 1, a1 ... aP of lags (N, P+1), by the Levinson-Durbin
    recursion."""
    filters = np.zeros_like(lags)
    filters[:, 0] = 1
    error = lags[:, 0].copy()
    for order in range(1, lags.shape[1]):
        reflection = -(filters[:, :order] * lags[:, order:0:-1]).sum(-1) / error  # N
        filters[:, 1 : order + 1] += reflection[:, None] * filters[:, order - 1 :: -1]
        error *= 1 - np.square(reflection)
    return filters


def prediction_error(filters: np.ndarray, lags: np.ndarray) -> np.ndarray:
    """Return a' R a per frame, R the Toeplitz matrix of the lags: (N, P+1), (N, P+1) -> (N,)."""
    products = autocorrelation(filters)
    return (products * lags).sum(-1) * 2 - products[:, 0] * lags[:, 0]


def band_levels(audio: np.ndarray, sample_rate: int, scale: float = 1.0) -> np.ndarray:
    """Return the power of each critical band in dB, at least -100: (samples,) -> (N, K).

    scale: frames are divided by it first.
    """
    x = frames(audio, sample_rate, EPS) / scale
    n_fft = 2 ** int(np.ceil(np.log2(2 * x.shape[1])))
    power = np.square(np.abs(np.fft.rfft(x, n_fft)))[:, : n_fft // 2]  # N F
    return 10 * np.log10(np.maximum(power @ band_filters(n_fft, sample_rate).T, 1e-10))


def band_filters(n_fft: int, sample_rate: int) -> np.ndarray:
    """Return Gaussian filters of equal area (K, n_fft / 2), cut off below -30 dB of the
    narrowest."""
    centres, widths = np.array(BANDS).T[:, :, None]  # Hz, (K, 1)
    bins_per_hz = n_fft / sample_rate
    distance = np.arange(n_fft // 2) - np.floor(centres * bins_per_hz)
    gain = np.exp(-11 * np.square(distance / (widths * bins_per_hz))) * widths.min() / widths
    return gain * (gain > np.exp(-30 / (2 * 2.303)))


def slope_weights(level: np.ndarray) -> np.ndarray:
    """Return Klatt's weights (N, K-1) of levels (N, K).

    They are near 1 close to the frame's maximum and to the local peak.
    """
    rising = np.diff(level) > 0
    count = rising.shape[1]
    peak = np.tile(np.arange(count), (len(level), 1))  # the local peak that a band belongs to
    for k in range(1, count):  # downhill: back to where the fall began
        peak[:, k] = np.where(~rising[:, k] & ~rising[:, k - 1], peak[:, k - 1], peak[:, k])
    for k in range(count - 2, -1, -1):  # uphill: on to the last band that rises, as published
        peak[:, k] = np.where(rising[:, k] & rising[:, k + 1], peak[:, k + 1], peak[:, k])
    top = level.max(-1, keepdims=True)
    level = level[:, :-1]
    return 20 / (20 + top - level) / (1 + np.take_along_axis(level, peak, 1) - level)

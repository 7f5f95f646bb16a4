"""Compute the composite measures CSIG, CBAK and COVL, and the distances that they are predicted from.

N frames of 30 ms, every 7.5 ms, Hann window · P order of the linear prediction · K = 25 critical bands

Hu and Loizou, "Evaluation of objective quality measures for speech enhancement", IEEE TASLP 16(1), 2008: CSIG, CBAK
and COVL are linear in PESQ, the log-likelihood ratio (LLR), Klatt's weighted spectral slope (WSS, ICASSP 1982) and
the segmental SNR. Signals in [-1, 1], the 5 % worst frames of LLR and WSS left out, wide-band PESQ as MOS-LQO.

Published tables of VoiceBank+DEMAND use two scripts. They differ in WSS alone: the script that came with the conformer
GANs (CMGAN and its successors) divides each frame by WSS_SCRIPT_SCALE = 32768 although samples are within [-1, 1]
already, so that the floor of -100 dB covers quiet bands. WSS is then lower, and CSIG, CBAK and COVL are higher, by 0.2
to 0.3 on average for speech in noise. `scale=WSS_SCRIPT_SCALE` reproduces it.
"""

from typing import Any

import numpy as np

from .perceptual import pesq_wb

EPS = np.finfo(np.float64).eps
KEPT = 0.95  # share of the frames, the best ones, that LLR and WSS average
PREDICTION_ORDER = 16
WORST_RATIO = 1000.0  # in place of a likelihood ratio that rounding made impossible
WSS_SCRIPT_SCALE = 32768.0  # divides the frames inside WSS in the script of the conformer GANs
CENTRES: tuple[float, ...] = (
    50,
    120,
    190,
    260,
    330,
    400,
    470,
    540,
    617.372,
    703.378,
    798.717,
    904.128,
    1020.38,
)
CENTRES += (
    1148.30,
    1288.72,
    1442.54,
    1610.70,
    1794.16,
    1993.93,
    2211.08,
    2446.71,
    2701.97,
    2978.04,
    3276.17,
    3597.63,
)
WIDTHS: tuple[float, ...] = (70,) * 7 + (
    77.3724,
    86.0056,
    95.3398,
    105.411,
    116.256,
    127.914,
)  # as CENTRES in Hz
WIDTHS += (
    140.423,
    153.823,
    168.154,
    183.457,
    199.776,
    217.153,
    235.631,
    255.255,
    276.072,
    298.126,
    321.465,
    346.136,
)


def ratings(*, pesq_wb: float, llr: float, wss: float, segmental_snr: float) -> dict[str, float]:
    """Return csig, cbak and covl, each 1 to 5, by the published regression (Hu and Loizou 2008)."""
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
    parts = {"pesq_wb": pesq_wb(**pair), "llr": llr(**pair), "wss": wss(**pair, scale=wss_scale)}
    parts["segmental_snr"] = segmental_snr(**pair)
    return parts | ratings(**parts)


def composite_scaled(
    *, clean: np.ndarray, enhanced: np.ndarray, sample_rate: int = 16000
) -> dict[str, float]:
    """Return csig_scaled, cbak_scaled, covl_scaled: the ratings with WSS as in the script of the conformer GANs."""
    found = composite(
        clean=clean, enhanced=enhanced, sample_rate=sample_rate, wss_scale=WSS_SCRIPT_SCALE
    )
    return {f"{name}_scaled": found[name] for name in ("csig", "cbak", "covl")}


def segmental_snr(*, clean: np.ndarray, enhanced: np.ndarray, sample_rate: int) -> float:
    """Return the mean over frames of the SNR in dB, each limited to -10 to 35 dB (Hansen and Pellom 1998)."""
    signal = np.square(frames(clean, sample_rate)).sum(-1)  # N
    rest = np.square(frames(np.asarray(clean, np.float64) - enhanced, sample_rate)).sum(-1)
    return float(np.clip(10 * np.log10(signal / (rest + EPS) + EPS), -10, 35).mean())


def llr(*, clean: np.ndarray, enhanced: np.ndarray, sample_rate: int) -> float:
    """Return the log-likelihood ratio of the all-pole models of `enhanced` and `clean`, 0 (equal) and up.

    Frames in which `clean` is digital silence have no all-pole model and are left out; published scripts count them by
    a value that rounding decides, so that 10 % of digital silence can raise LLR by 1. ValueError if no frame is left.
    """
    voiced = np.any(frames(clean, sample_rate), axis=1)
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
    """Return the weighted spectral slope distance: squared differences of the slopes from band to band in dB, 0 and up.

    scale: frames are divided by it first; WSS_SCRIPT_SCALE for the numbers of the conformer GANs' script.
    """
    clean_bands = band_levels(clean, sample_rate, scale)  # N K
    enhanced_bands = band_levels(enhanced, sample_rate, scale)
    weight = (slope_weights(clean_bands) + slope_weights(enhanced_bands)) / 2  # N K-1
    distance = np.square(np.diff(clean_bands) - np.diff(enhanced_bands))
    return best_frames((weight * distance).sum(-1) / weight.sum(-1))


def frames(audio: np.ndarray, sample_rate: int, offset: float = 0.0) -> np.ndarray:
    """Return the windowed frames (N, 30 ms) of audio + offset; the last complete frame is left out, as published."""
    length = round(0.03 * sample_rate)
    step = length // 4
    count = (len(audio) - length) // step
    if count < 1:
        raise ValueError(f"too short for frames of 30 ms: {len(audio)} samples")
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(1, length + 1) / (length + 1))
    view = np.lib.stride_tricks.sliding_window_view(np.asarray(audio, np.float64) + offset, length)
    return view[: count * step : step] * window


def best_frames(distance: np.ndarray) -> float:
    """Return the mean over the KEPT share of the frames with the smallest distance."""
    return float(np.sort(distance)[: round(len(distance) * KEPT)].mean())


def autocorrelation(x: np.ndarray) -> np.ndarray:
    """Return lags 0 to P of each frame: (N, samples) -> (N, P+1)."""
    length = x.shape[1]
    return np.stack(
        [(x[:, : length - k] * x[:, k:]).sum(-1) for k in range(PREDICTION_ORDER + 1)], axis=-1
    )


def levinson(lags: np.ndarray) -> np.ndarray:
    """Return the whitening filters 1, a1 ... aP of lags (N, P+1), by the Levinson-Durbin recursion."""
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
    """Return the power of each critical band in dB, at least -100, of frames divided by scale: (samples,) -> (N, K)."""
    x = frames(audio, sample_rate, EPS) / scale
    n_fft = 2 ** int(np.ceil(np.log2(2 * x.shape[1])))
    power = np.square(np.abs(np.fft.rfft(x, n_fft)))[:, : n_fft // 2]  # N F
    return 10 * np.log10(np.maximum(power @ band_filters(n_fft, sample_rate).T, 1e-10))


def band_filters(n_fft: int, sample_rate: int) -> np.ndarray:
    """Return Gaussian filters of equal area (K, n_fft / 2), cut off below -30 dB of the narrowest one's peak."""
    centre = np.floor(np.array(CENTRES)[:, None] * n_fft / sample_rate)
    width = np.array(WIDTHS)[:, None]
    bins = np.arange(n_fft // 2)
    gain = (
        np.exp(-11 * np.square((bins - centre) / (width * n_fft / sample_rate)))
        * width.min()
        / width
    )
    return gain * (gain > np.exp(-30 / (2 * 2.303)))


def slope_weights(level: np.ndarray) -> np.ndarray:
    """Return Klatt's weights (N, K-1) of levels (N, K), near 1 close to the frame's maximum and to the local peak."""
    rising = np.diff(level) > 0
    count = rising.shape[1]
    peak = np.tile(np.arange(count), (len(level), 1))  # the local peak that a band belongs to
    for k in range(1, count):  # downhill: back to where the fall began
        peak[:, k] = np.where(~rising[:, k] & ~rising[:, k - 1], peak[:, k - 1], peak[:, k])
    for k in range(count - 2, -1, -1):  # uphill: on to the last band that rises, as published
        peak[:, k] = np.where(rising[:, k] & rising[:, k + 1], peak[:, k + 1], peak[:, k])
    level, top = level[:, :-1], level.max(-1, keepdims=True)
    return 20 / (20 + top - level) / (1 + np.take_along_axis(level, peak, 1) - level)

"""Composite measures room: what listeners would say about speech, background and the whole, predicted from distances.

N frames of 30 ms, every 7.5 ms, Hann window · P order of the linear prediction · K = 25 critical bands

Hu and Loizou, "Evaluation of objective quality measures for speech enhancement", IEEE TASLP 16(1), 2008: CSIG, CBAK
and COVL are linear in PESQ, the log-likelihood ratio (LLR), Klatt's weighted spectral slope (WSS, ICASSP 1982) and
the segmental SNR. Signals in [-1, 1], the 5 % worst frames of LLR and WSS left out, wide-band PESQ as MOS-LQO: the
conditions under which the VoiceBank+DEMAND tables of the literature were made.
"""

import numpy as np

EPS = np.finfo(np.float64).eps
KEPT = 0.95  # share of the frames, the best ones, that LLR and WSS average
PREDICTION_ORDER = 16
WORST_RATIO = 1000.0  # stands for a likelihood ratio that rounding made impossible
CENTRES: tuple[float, ...] = (50, 120, 190, 260, 330, 400, 470, 540, 617.372, 703.378, 798.717, 904.128, 1020.38)
CENTRES += (1148.30, 1288.72, 1442.54, 1610.70, 1794.16, 1993.93, 2211.08, 2446.71, 2701.97, 2978.04, 3276.17, 3597.63)
WIDTHS: tuple[float, ...] = (70,) * 7 + (77.3724, 86.0056, 95.3398, 105.411, 116.256, 127.914)  # as CENTRES in Hz
WIDTHS += (140.423, 153.823, 168.154, 183.457, 199.776, 217.153, 235.631, 255.255, 276.072, 298.126, 321.465, 346.136)


def ratings(*, pesq_wb: float, llr: float, wss: float, segmental_snr: float) -> dict[str, float]:
    """CSIG, CBAK and COVL, each 1 to 5, from the four distances (Hu and Loizou 2008, the regression they publish)."""
    scores = {
        "csig": 3.093 - 1.029 * llr + 0.603 * pesq_wb - 0.009 * wss,
        "cbak": 1.634 + 0.478 * pesq_wb - 0.007 * wss + 0.063 * segmental_snr,
        "covl": 1.594 + 0.805 * pesq_wb - 0.512 * llr - 0.007 * wss,
    }
    return {name: float(np.clip(score, 1, 5)) for name, score in scores.items()}


def segmental_snr(*, clean: np.ndarray, enhanced: np.ndarray, sample_rate: int) -> float:
    """Mean over frames of the SNR in dB, each frame within -10 to 35 dB (Hansen and Pellom 1998)."""
    signal = np.square(frames(clean, sample_rate)).sum(-1)  # N
    rest = np.square(frames(np.asarray(clean, np.float64) - enhanced, sample_rate)).sum(-1)
    return float(np.clip(10 * np.log10(signal / (rest + EPS) + EPS), -10, 35).mean())


def llr(*, clean: np.ndarray, enhanced: np.ndarray, sample_rate: int) -> float:
    """Log-likelihood ratio: how badly the all-pole model of `enhanced` predicts `clean`; 0 is the best."""
    clean_lags = autocorrelation(frames(clean, sample_rate, EPS))  # N P+1
    enhanced_lags = autocorrelation(frames(enhanced, sample_rate, EPS))
    with np.errstate(all="ignore"):
        wrong = prediction_error(levinson(enhanced_lags), clean_lags)
        ratio = wrong / prediction_error(levinson(clean_lags), clean_lags)
    possible = np.isfinite(ratio) & (ratio > 0)
    return best_frames(np.log(np.where(possible, ratio, WORST_RATIO)))


def wss(*, clean: np.ndarray, enhanced: np.ndarray, sample_rate: int) -> float:
    """Weighted spectral slope distance: squared differences of the slopes from band to band in dB; 0 is the best."""
    clean_bands = band_levels(clean, sample_rate)  # N K
    enhanced_bands = band_levels(enhanced, sample_rate)
    weight = (slope_weights(clean_bands) + slope_weights(enhanced_bands)) / 2  # N K-1
    distance = np.square(np.diff(clean_bands) - np.diff(enhanced_bands))
    return best_frames((weight * distance).sum(-1) / weight.sum(-1))


def frames(audio: np.ndarray, sample_rate: int, offset: float = 0.0) -> np.ndarray:
    """(samples,) -> (N, 30 ms): windowed frames of audio + offset; the last whole frame is left out, as published."""
    length = round(0.03 * sample_rate)
    step = length // 4
    count = (len(audio) - length) // step
    if count < 1:
        raise ValueError(f"too short for frames of 30 ms: {len(audio)} samples")
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(1, length + 1) / (length + 1))
    view = np.lib.stride_tricks.sliding_window_view(np.asarray(audio, np.float64) + offset, length)
    return view[: count * step : step] * window


def best_frames(distance: np.ndarray) -> float:
    """Mean over the KEPT share of the frames with the least distance."""
    return float(np.sort(distance)[: round(len(distance) * KEPT)].mean())


def autocorrelation(x: np.ndarray) -> np.ndarray:
    """(N, samples) -> (N, P+1): lags 0 to P of each frame."""
    length = x.shape[1]
    return np.stack([(x[:, : length - k] * x[:, k:]).sum(-1) for k in range(PREDICTION_ORDER + 1)], axis=-1)


def levinson(lags: np.ndarray) -> np.ndarray:
    """(N, P+1) lags -> (N, P+1) whitening filters 1, a1 ... aP (Levinson-Durbin recursion, all frames at once)."""
    filters = np.zeros_like(lags)
    filters[:, 0] = 1
    error = lags[:, 0].copy()
    for order in range(1, lags.shape[1]):
        reflection = -(filters[:, :order] * lags[:, order:0:-1]).sum(-1) / error  # N
        filters[:, 1 : order + 1] += reflection[:, None] * filters[:, order - 1 :: -1]
        error *= 1 - np.square(reflection)
    return filters


def prediction_error(filters: np.ndarray, lags: np.ndarray) -> np.ndarray:
    """a' R a per frame, R the Toeplitz matrix of the lags: (N, P+1), (N, P+1) -> (N,)."""
    products = autocorrelation(filters)
    return (products * lags).sum(-1) * 2 - products[:, 0] * lags[:, 0]


def band_levels(audio: np.ndarray, sample_rate: int) -> np.ndarray:
    """(samples,) -> (N, K): power of each critical band in dB, at least -100."""
    x = frames(audio, sample_rate, EPS)
    n_fft = 2 ** int(np.ceil(np.log2(2 * x.shape[1])))
    power = np.square(np.abs(np.fft.rfft(x, n_fft)))[:, : n_fft // 2]  # N F
    return 10 * np.log10(np.maximum(power @ band_filters(n_fft, sample_rate).T, 1e-10))


def band_filters(n_fft: int, sample_rate: int) -> np.ndarray:
    """(K, n_fft / 2): Gaussian filters of equal area, cut off below -30 dB of the narrowest one's peak."""
    centre = np.floor(np.array(CENTRES)[:, None] * n_fft / sample_rate)
    width = np.array(WIDTHS)[:, None]
    bins = np.arange(n_fft // 2)
    gain = np.exp(-11 * np.square((bins - centre) / (width * n_fft / sample_rate))) * width.min() / width
    return gain * (gain > np.exp(-30 / (2 * 2.303)))


def slope_weights(level: np.ndarray) -> np.ndarray:
    """(N, K) -> (N, K-1): Klatt's weights, near 1 close to the frame's maximum and to the local peak."""
    rising = np.diff(level) > 0
    count = rising.shape[1]
    peak = np.tile(np.arange(count), (len(level), 1))  # the local peak that a band belongs to
    for k in range(1, count):  # downhill: back to where the fall began
        peak[:, k] = np.where(~rising[:, k] & ~rising[:, k - 1], peak[:, k - 1], peak[:, k])
    for k in range(count - 2, -1, -1):  # uphill: on to the last band that rises, as published
        peak[:, k] = np.where(rising[:, k] & rising[:, k + 1], peak[:, k + 1], peak[:, k])
    level, top = level[:, :-1], level.max(-1, keepdims=True)
    return 20 / (20 + top - level) / (1 + np.take_along_axis(level, peak, 1) - level)

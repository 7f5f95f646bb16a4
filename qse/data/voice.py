"""Change voices: sustained vowels, whispers, shifted formants.

Pure functions of audio (B, N) float32 and parameters of each row as tensors on the same device;
white noise is an argument, and none returns NaN for silence.

Glossary: B rows, N samples, K places, F bins, T frames.
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import avg_pool1d, fold, pad

from .filters import fast_size
from .levels import active_level, at_level


def most_periodic(audio: Tensor, places: Tensor, longest: int) -> tuple[Tensor, Tensor, Tensor]:
    """Choose, of K places in each row, int64 (B, K), the one after which the sound repeats itself
    best.

    -> the place, its period (or a multiple) of longest / 8 to `longest` samples, both int64 (B,),
    and the normalised autocorrelation at that period, at most 1 (B,). Reads 4 * longest samples
    after a place and correlates 3 * longest. Quiet places count as 0, and so do those whose
    correlation only falls from the shortest period on: they have a longer period, or none.
    """
    rows = torch.arange(len(audio), device=audio.device)[:, None]
    # B, K, 4 L
    sound = audio[
        rows[..., None], places[..., None] + torch.arange(4 * longest, device=audio.device)
    ]
    size = fast_size(4 * longest)
    compared = 3 * longest
    spectrum = torch.fft.rfft(sound[..., :compared], n=size).conj() * torch.fft.rfft(sound, n=size)
    power = pad(sound.square().cumsum(-1), (1, 0))
    power = power[..., compared:] - power[..., : longest + 1]  # by lag
    own = power[..., :1].clamp_min(1e-9)
    correlation = (
        torch.fft.irfft(spectrum, n=size)[..., : longest + 1]
        / (own * power.maximum(1e-3 * own)).sqrt()
    )
    loud = own[..., 0] > 0.1 * compared * active_level(audio)[:, None].square()
    before = correlation[..., longest // 8 - 1]
    (best, lag) = correlation[..., longest // 8 :].max(-1)
    highest, at = (best * (loud & (best > before))).max(1, keepdim=True)
    return places.gather(1, at)[:, 0], longest // 8 + lag.gather(1, at)[:, 0], highest[:, 0]


def sustain(audio: Tensor, start: Tensor, period: Tensor, loop: Tensor, rounds: Tensor) -> Tensor:
    """Repeat the `loop` samples from `start` on `rounds` times, and delay the rest; (B, N), the end
    is cut off.

    Numbers are int64 (B,); a loop is a multiple of the period. Each repeat fades in, over a
    `period`, from the samples that follow the loop.
    """
    samples = audio.shape[-1]
    time = torch.arange(samples, device=audio.device) - start[:, None]
    extra = (rounds * loop)[:, None]
    loop = loop[:, None]
    start = start[:, None]
    repeated = (time >= loop) & (time < loop + extra)
    phase = time % loop
    source = torch.where(repeated, start + phase, start + time - extra * (time >= loop + extra))
    onward = (start + loop + phase).clamp_max(samples - 1)
    share = torch.where(repeated, (phase / period[:, None]).clamp_max(1), 1.0)
    return share * audio.gather(1, source) + (1 - share) * audio.gather(1, onward)


def whisper(audio: Tensor, white: Tensor, sample_rate: int = 16000) -> Tensor:
    """Replace the voice of speech (B, N) by `white` noise (B, N) with its spectral envelope; the
    level stays.

    Below 500 Hz the noise is weaker, as in a whisper.
    """
    window = _window(audio, sample_rate)
    spec = _stft(audio, window)
    noise = _stft(white, window)
    frequency = torch.linspace(0, sample_rate / 2, spec.shape[1], device=audio.device)
    shaped = noise * _envelope(spec.abs(), sample_rate) * (frequency / (frequency + 500))[:, None]
    return at_level(_istft(shaped, window, audio.shape[1]), active_level(audio))


def shift_formants(audio: Tensor, factor: Tensor, sample_rate: int = 16000) -> Tensor:
    """Move the resonances of speech (B, N) to `factor` (B,) times their frequency; pitch, length
    and level stay.

    The spectral envelope is resampled along frequency; the gain that this takes is at most 20 dB in
    each bin.
    """
    window = _window(audio, sample_rate)
    spec = _stft(audio, window)
    envelope = _envelope(spec.abs(), sample_rate).clamp_min(1e-6)  # B, F, T
    bins = spec.shape[1]
    place = (torch.arange(bins, device=audio.device) / factor[:, None]).clamp_max(bins - 1)  # B, F
    left = place.long().clamp_max(bins - 2)
    index = left[..., None].expand_as(envelope)
    moved = envelope.gather(1, index).lerp(envelope.gather(1, index + 1), (place - left)[..., None])
    shifted = spec * (moved / envelope).clamp(0.1, 10.0)
    return at_level(_istft(shifted, window, audio.shape[1]), active_level(audio))


def _window(audio: Tensor, sample_rate: int) -> Tensor:
    """Return a Hann window of about 32 ms, a power of two samples."""
    return torch.hann_window(1 << round(math.log2(0.032 * sample_rate)), device=audio.device)


def _stft(audio: Tensor, window: Tensor) -> Tensor:
    return torch.stft(audio, len(window), len(window) // 4, window=window, return_complex=True)


def _istft(spec: Tensor, window: Tensor, samples: int) -> Tensor:
    """Invert `_stft`. torch.istft reads the sum of the windows, for which a GPU would wait."""
    size = len(window)
    frames = torch.fft.irfft(spec, n=size, dim=1) * window[:, None]  # B, N, T
    length = size // 4 * (spec.shape[-1] - 1) + size
    whole = {"output_size": (1, length), "kernel_size": (1, size), "stride": (1, size // 4)}
    squares = window.square()[None, :, None].expand(1, size, spec.shape[-1])
    audio = fold(frames, **whole)[:, 0, 0] / fold(squares, **whole)[:, 0, 0].clamp_min(1e-6)
    return audio[:, size // 2 : size // 2 + samples]


def _envelope(mag: Tensor, sample_rate: int) -> Tensor:
    """Smooth magnitudes (B, F, T) by a mean over about 300 Hz."""
    n_fft = 2 * (mag.shape[1] - 1)
    reach = round(150 * n_fft / sample_rate)  # bins on each side
    return avg_pool1d(mag.mT, 2 * reach + 1, 1, reach, count_include_pad=False).mT

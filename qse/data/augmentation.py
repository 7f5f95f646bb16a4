"""Augmentation: what makes one recording into many.

Pure functions: audio (B, N) float32 and the parameters of each row as tensors on the same device in, audio out.
No function draws a random number (white noise is an argument), none returns NaN for silence.
Filters act on the spectrum of the whole row: they have zero phase and wrap around at its ends.

Glossary: B rows, N samples, F = N // 2 + 1 bins, K knots or clicks, H harmonics, L taps.
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import avg_pool1d, pad

SILENCE = 1e-4
"""A row whose active level lies below this (-80 dBFS) counts as silent."""


def decibels(value: Tensor) -> Tensor:
    """dB to a linear amplitude factor."""
    return torch.pow(10.0, value / 20)


def active_level(audio: Tensor, frame: int = 320, depth: float = 40.0) -> Tensor:
    """Level (B,) = RMS over the frames of `frame` samples whose power is within `depth` dB of the loudest frame."""
    frame = min(frame, audio.shape[-1])
    power = audio[:, : audio.shape[-1] // frame * frame].unflatten(-1, (-1, frame)).square().mean(-1)  # (B, frames)
    active = power >= power.amax(-1, keepdim=True) * 10 ** (-depth / 10)
    return ((power * active).sum(-1) / active.sum(-1)).sqrt()


def at_level(audio: Tensor, level: Tensor) -> Tensor:
    """Scale each row to an active level (B,); a silent row becomes exactly zero."""
    measured = active_level(audio)
    gain = torch.where(measured > SILENCE, level / measured.clamp_min(SILENCE), 0.0)
    return audio * gain[:, None]


def at_snr(noise: Tensor, speech: Tensor, snr: Tensor) -> Tensor:
    """Scale noise to `snr` dB (B,) below the speech, by active levels.

    Where the SNR is undefined: silent noise becomes zero, noise beside silent speech keeps its level.
    """
    speech_level = active_level(speech)
    wanted = torch.where(speech_level > SILENCE, speech_level * decibels(-snr), active_level(noise))
    return at_level(noise, wanted)


def at_peak(noisy: Tensor, clean: Tensor, peak: Tensor) -> tuple[Tensor, Tensor]:
    """One common gain for both, such that the peak of `noisy` is `peak` dBFS (B,); silence stays as it is."""
    highest = noisy.abs().amax(-1)
    gain = torch.where(highest > 1e-6, decibels(peak) / highest.clamp_min(1e-6), 1.0)[:, None]
    return noisy * gain, clean * gain


def change_speed(audio: Tensor, samples: int) -> Tensor:
    """Play N samples in `samples`: tempo and pitch change by N / samples, as with a tape. (B, samples)."""
    spectrum = torch.fft.rfft(audio)
    return torch.fft.irfft(spectrum, n=samples) * (samples / audio.shape[-1])


def steadiest(audio: Tensor, places: Tensor, longest: int) -> tuple[Tensor, Tensor, Tensor]:
    """Of K places in each row, int64 (B, K), the one behind which the sound is the most like itself a period later.

    -> the place, its period (or several) of longest / 8 to `longest` samples, both int64 (B,), and how alike it is, at
    most 1 (B,). What lies behind a place is compared over 3 * longest samples; it reads 4 * longest. Quiet places count
    as unlike, and so do those whose likeness only falls from the shortest period on: theirs is a longer one, or none.
    """
    rows = torch.arange(len(audio), device=audio.device)[:, None]
    sound = audio[rows[..., None], places[..., None] + torch.arange(4 * longest, device=audio.device)]  # B, K, 4 L
    size, compared = _fast_size(4 * longest), 3 * longest
    spectrum = torch.fft.rfft(sound[..., :compared], n=size).conj() * torch.fft.rfft(sound, n=size)
    power = pad(sound.square().cumsum(-1), (1, 0))
    power = power[..., compared:] - power[..., : longest + 1]  # by lag
    own = power[..., :1].clamp_min(1e-9)
    alike = torch.fft.irfft(spectrum, n=size)[..., : longest + 1] / (own * power.maximum(1e-3 * own)).sqrt()
    loud = own[..., 0] > 0.1 * compared * active_level(audio)[:, None].square()
    before, (alike, lag) = alike[..., longest // 8 - 1], alike[..., longest // 8 :].max(-1)
    best, at = (alike * (loud & (alike > before))).max(1, keepdim=True)
    return places.gather(1, at)[:, 0], longest // 8 + lag.gather(1, at)[:, 0], best[:, 0]


def sustain(audio: Tensor, start: Tensor, period: Tensor, loop: Tensor, rounds: Tensor) -> Tensor:
    """The `loop` samples from `start` on go round `rounds` times more, and the rest comes later; (B, N), what no longer
    fits is cut off. Numbers are int64 (B,); a loop is some periods long. Each round fades in, over a `period`, from
    what would have followed the loop.
    """
    samples = audio.shape[-1]
    time = torch.arange(samples, device=audio.device) - start[:, None]
    extra, loop, start = (rounds * loop)[:, None], loop[:, None], start[:, None]
    held, phase = (time >= loop) & (time < loop + extra), time % loop
    again = torch.where(held, start + phase, start + time - extra * (time >= loop + extra))
    onward = (start + loop + phase).clamp_max(samples - 1)  # where the sound would have gone
    share = torch.where(held, (phase / period[:, None]).clamp_max(1), 1.0)
    return share * audio.gather(1, again) + (1 - share) * audio.gather(1, onward)


def whispered(audio: Tensor, white: Tensor, sample_rate: int = 16000) -> Tensor:
    """Speech without its voice, (B, N): `white` noise (B, N) under the envelope of its spectrum, a mean over about
    300 Hz of frames of about 32 ms, weaker below 500 Hz, where a whisper is; as loud as before."""
    n_fft = 1 << round(math.log2(0.032 * sample_rate))
    window = torch.hann_window(n_fft, device=audio.device)
    mag, noise = (torch.stft(x, n_fft, n_fft // 4, window=window, return_complex=True) for x in (audio, white))
    wide = round(150 * n_fft / sample_rate)  # bins on each side
    envelope = avg_pool1d(mag.abs().mT, 2 * wide + 1, 1, wide, count_include_pad=False).mT
    frequency = torch.linspace(0, sample_rate / 2, n_fft // 2 + 1, device=audio.device)
    shaped = noise * envelope * (frequency / (frequency + 500))[:, None]
    return at_level(torch.istft(shaped, n_fft, n_fft // 4, window=window, length=audio.shape[1]), active_level(audio))


def change_gain(audio: Tensor, knots: Tensor) -> Tensor:
    """A gain that moves through `knots` dB (B, K), evenly spaced in time, in straight lines."""
    place = torch.linspace(0, knots.shape[-1] - 1, audio.shape[-1], device=audio.device)
    return audio * decibels(_through(knots, place))


def equalise(audio: Tensor, knots: Tensor, lowest: float = 60 / 8000) -> Tensor:
    """Spectral gain through `knots` dB (B, K), evenly spaced in log frequency from `lowest` (of Nyquist = 1) to 1."""
    place = 1 - _frequencies(audio).clamp_min(lowest).log() / math.log(lowest)  # (F,) 0 at lowest, 1 at Nyquist
    return _filter(audio, decibels(_through(knots, place * (knots.shape[-1] - 1))))


def low_pass(audio: Tensor, cutoff: Tensor, order: int = 20) -> Tensor:
    """Butterworth magnitude, -3 dB at `cutoff` (B,) in units of the Nyquist frequency."""
    ratio = _frequencies(audio) / cutoff[:, None]  # (B, F)
    return _filter(audio, (1 + ratio ** (2 * order)).rsqrt())


def convolve(audio: Tensor, taps: Tensor) -> Tensor:
    """Causal convolution of audio (..., N) with taps (..., L), cut to N samples; leading axes broadcast."""
    samples = audio.shape[-1]
    size = _fast_size(samples + taps.shape[-1] - 1)
    spectrum = torch.fft.rfft(audio, n=size) * torch.fft.rfft(taps, n=size)
    return torch.fft.irfft(spectrum, n=size)[..., :samples]


def reverberate(audio: Tensor, response: Tensor, early: int) -> tuple[Tensor, Tensor]:
    """(audio in the room, the same with only the first `early` taps of the response), from responses (B, L)."""
    begins = torch.arange(response.shape[-1], device=response.device) < early
    parts = convolve(audio[:, None], torch.stack([response * begins, response * ~begins], dim=1))  # (B, 2, N)
    return parts.sum(1), parts[:, 0]


def soft_clip(audio: Tensor, drive: Tensor) -> Tensor:
    """tanh saturation with gain 1 for small signals; a peak is driven to tanh(drive) / drive of itself, drive (B,)."""
    scale = audio.abs().amax(-1).clamp_min(1e-6)[:, None] / drive[:, None]
    return scale * torch.tanh(audio / scale)


def coloured(white: Tensor, slope: Tensor, lowest: float = 30 / 8000) -> Tensor:
    """White noise (B, N) tilted by `slope` dB per octave (B,); flat below `lowest` (of Nyquist = 1), no DC."""
    frequency = _frequencies(white).clamp_min(lowest)
    gains = frequency ** (slope[:, None] / (20 * math.log10(2)))  # (B, F)
    gains[:, 0] = 0
    return _filter(white, gains)


def speech_shaped(white: Tensor, speech: Tensor) -> Tensor:
    """Stationary noise with exactly the magnitude spectrum of `speech` and the phases of the white noise, (B, N)."""
    noise = torch.fft.rfft(white)
    noise = noise / noise.abs().clamp_min(1e-9)
    return torch.fft.irfft(noise * torch.fft.rfft(speech).abs(), n=white.shape[-1])


def hum(mains: Tensor, amplitude: Tensor, phase: Tensor, samples: int, sample_rate: int) -> Tensor:
    """Sum of harmonics of `mains` Hz (B,) with amplitude and phase (B, H): (B, samples)."""
    harmonic = torch.arange(1, amplitude.shape[-1] + 1, device=mains.device)
    omega = 2 * math.pi / sample_rate * mains[:, None] * harmonic  # (B, H)
    time = torch.arange(samples, device=mains.device)
    waves = torch.sin(omega[..., None] * time + phase[..., None])  # (B, H, N)
    return (amplitude[..., None] * waves).sum(1)


def clicks(position: Tensor, amplitude: Tensor, burst: Tensor, samples: int, decay: float = 16.0) -> Tensor:
    """Short bursts: white noise `burst` (B, K, W) dying by 1 / e in `decay` samples, at int64 `position` (B, K)."""
    width = burst.shape[-1]
    ramp = torch.exp(-torch.arange(width, device=burst.device) / decay)
    index = position[..., None] + torch.arange(width, device=burst.device)  # (B, K, W)
    out = torch.zeros(len(position), samples + width, device=burst.device)
    out.scatter_add_(1, index.flatten(1), (amplitude[..., None] * burst * ramp).flatten(1))
    return out[:, :samples]


def _frequencies(audio: Tensor) -> Tensor:
    """Frequency of each bin of a whole row, Nyquist = 1: (F,)."""
    samples = audio.shape[-1]
    return torch.arange(samples // 2 + 1, device=audio.device) * (2 / samples)


def _filter(audio: Tensor, gains: Tensor) -> Tensor:
    return torch.fft.irfft(torch.fft.rfft(audio) * gains, n=audio.shape[-1])


def _through(knots: Tensor, place: Tensor) -> Tensor:
    """Straight lines through knots (B, K) that lie at 0 ... K - 1, read at each place (N,): (B, N)."""
    left = place.floor().clamp(0, knots.shape[-1] - 2)
    part = place - left
    left = left.long()
    return torch.lerp(knots[:, left], knots[:, left + 1], part.expand(len(knots), -1))


def _fast_size(samples: int) -> int:
    """The next size of at least `samples` that is 8 ... 16 times a power of two: quick to transform."""
    unit = 1 << max(0, samples.bit_length() - 4)
    return -(-samples // unit) * unit

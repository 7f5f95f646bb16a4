"""Make impulse responses of rooms: measured ones, or simulated from a seed.

Model: a shoebox room of random size and reverberation time. The first 35 ms after the direct sound
are image sources (Allen and Berkley, "Image method for efficiently simulating small-room
acoustics", 1979) with one reflection coefficient for all walls, from Eyring's formula; later sound
is diffuse: white noise that decays by 60 dB in RT60 and starts at the level of the last images.
Walls reflect all frequencies equally; talker and microphone are omnidirectional.

Glossary: R rooms, L samples of a response, I image sources.
"""

import math

import numpy as np
import torch
from torch import Tensor

from .mix_config import MixConfig

SPEED_OF_SOUND = 343.0  # m/s
MIXING_TIME = 0.035  # s after the direct sound; ORDER images per axis are complete up to here
ORDER = 3
SMALLEST = torch.tensor([3.0, 3.0, 2.5])  # metres, of a room
LARGEST = torch.tensor([10.0, 8.0, 4.0])


def rooms_of(mix: MixConfig, seed: int) -> Tensor:
    """Return the simulated rooms of a recipe, see `room_bank`."""
    return room_bank(mix.rooms, mix.sample_rate, mix.rt60, mix.distance, seed)


def room_bank(
    rooms: int,
    sample_rate: int,
    rt60: tuple[float, float],
    distance: tuple[float, float],
    seed: int,
) -> Tensor:
    """Simulate impulse responses, float32 (R, L): the direct sound is 1 at sample 0, L is the
    longest RT60.

    rt60 in seconds and distance (microphone to talker) in metres are drawn uniformly from their
    ranges.
    """
    rng = torch.Generator().manual_seed(seed)

    def uniform(low: float, high: float, *shape: int) -> Tensor:
        return low + (high - low) * torch.rand(shape, generator=rng)

    samples = math.ceil(rt60[1] * sample_rate)
    bank = torch.zeros(rooms, samples)
    for response in bank:
        size = SMALLEST + uniform(0, 1, 3) * (LARGEST - SMALLEST)
        microphone = 0.5 + uniform(0, 1, 3) * (size - 1.0)
        direction = torch.nn.functional.normalize(uniform(-1, 1, 3), dim=0)
        talker = microphone + direction * uniform(*distance, 1)
        talker = torch.minimum(talker.clamp_min(0.2), size - 0.2)
        decay = uniform(*rt60, 1)
        noise = torch.randn(samples, generator=rng)
        response += room_response(size, microphone, talker, decay, noise, sample_rate)
    return bank


def from_direct(response: np.ndarray) -> np.ndarray:
    """Return a measured response (samples,), of floats, from its largest tap on, the direct sound,
    which is scaled to 1."""
    direct = int(np.abs(response).argmax())
    return response[direct:] / response[direct]


def measured_bank(responses: list[np.ndarray], samples: int) -> Tensor:
    """Align and scale measured responses, float32 (R, samples): the direct sound is 1 at sample
    0."""
    bank = torch.zeros(len(responses), samples)
    for row, response in zip(bank, responses, strict=True):
        kept = from_direct(response.astype(np.float32))[:samples]
        row[: len(kept)] = torch.from_numpy(kept)
    return bank


def room_response(
    size: Tensor, microphone: Tensor, talker: Tensor, rt60: Tensor, noise: Tensor, sample_rate: int
) -> Tensor:
    """Simulate one response (L,) from room size and positions in metres (3,), rt60 in seconds and
    white noise (L,)."""
    samples = len(noise)
    early = min(samples, round(MIXING_TIME * sample_rate))
    response = _images(size, microphone, talker, reflection(size, rt60), early, sample_rate)
    # 1e-3 at RT60
    envelope = torch.exp(-3 * math.log(10) / rt60 * torch.arange(samples) / sample_rate)
    joint = slice(early * 2 // 3, early)
    level = (response[joint].square().sum() / envelope[joint].square().sum()).sqrt()
    late = level * envelope[early:] * noise[early:]
    return torch.cat([response, late])


def reflection(size: Tensor, rt60: Tensor) -> Tensor:
    """Return the amplitude that a wall reflects (0 to 1), by Eyring: RT60 = 0.161 V / (-S
    ln(reflection ** 2))."""
    x, y, z = size
    volume = x * y * z
    surface = 2 * (x * y + y * z + z * x)
    return torch.exp(-0.161 * volume / (2 * surface * rt60))


def _images(
    size: Tensor, microphone: Tensor, talker: Tensor, beta: Tensor, samples: int, sample_rate: int
) -> Tensor:
    """Return the sum of image sources (samples,), the direct sound at 0, each split over its two
    nearest samples."""
    n = torch.arange(-ORDER, ORDER + 1)
    mirrored = torch.tensor([0, 1])
    # (n, mirrored, 3)
    axes = 2 * n[:, None, None] * size + (1 - 2 * mirrored[:, None]) * talker - microphone
    bounces = ((n[:, None] - mirrored).abs() + n[:, None].abs()).flatten()
    x, y, z = axes.flatten(0, 1).square().unbind(-1)
    far = (x[:, None, None] + y[:, None] + z).sqrt().flatten()  # (I,) metres
    count = (bounces[:, None, None] + bounces[:, None] + bounces).flatten()
    direct = (talker - microphone).norm()
    delay = (far - direct).clamp_min(0) / SPEED_OF_SOUND * sample_rate
    gain = beta**count * direct / far.clamp_min(1e-3)
    index = delay.long()
    part = delay.frac()
    out = torch.zeros(samples + 1)
    out.index_add_(0, index.clamp_max(samples), gain * (1 - part) * (index < samples))
    out.index_add_(0, (index + 1).clamp_max(samples), gain * part * (index + 1 < samples))
    return out[:samples]

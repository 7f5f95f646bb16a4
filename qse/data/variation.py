"""Vary the speed, the spectrum and the gain of recordings, of speech as of noise."""

from collections.abc import Callable

import torch
from torch import Tensor

from ..torch_device import uploaded
from .augmentation import change_speed
from .filters import change_gain, equalise
from .mix_config import MixConfig
from .sampling import BatchRng

KNOTS = 6  # points of a gain curve, over frequency or time


def vary(
    config: MixConfig,
    rng: BatchRng,
    read: Callable[[int], Tensor],
    size: int,
    wide_chance: float = 0.0,
) -> Tensor:
    """Read `size` rows with read(samples) and change speed, spectrum and gain of random ones:
    return (size, N).

    wide_chance: probability that the speed of a row is drawn from the range `noise_speed`.
    """
    percent = torch.where(
        rng.coin(config.speed_chance, size), rng.uniform(*config.speed, size) * 100, 100.0
    )
    if wide_chance:  # in steps of 5 %: each speed needs Fourier transforms of its own length
        wide = (rng.uniform(*config.noise_speed, size) * 20).round().clamp_min(1) * 5
        percent = torch.where(rng.coin(wide_chance, size), wide, percent)
    needed = (percent.round() / 100 * config.samples).round().long()  # (B,), one of a few sizes
    audio = read(max(config.samples, *needed.tolist()))
    out = audio[:, : config.samples].clone()
    for samples in set(needed.tolist()) - {config.samples}:
        rows = uploaded(torch.nonzero(needed == samples).flatten(), rng.device)
        out[rows] = change_speed(audio[rows, :samples], config.samples)
    for chance, reach, change in (
        (config.eq_chance, config.eq, equalise),
        (config.gain_drift_chance, config.gain_drift, change_gain),
    ):
        items = rng.items(chance, size)
        if len(items):
            rows = uploaded(items, rng.device)
            knots = rng.draw((-reach, reach), len(items), KNOTS)
            out[rows] = change(out[rows], knots)
    return out

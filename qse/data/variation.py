"""Vary recordings: speed, equaliser, gain drift. The same for speech and for recorded noise."""

from collections.abc import Callable

import torch
from torch import Tensor

from .augmentation import change_speed
from .filters import change_gain, equalise
from .mix_config import MixConfig
from .sampling import BatchRng

KNOTS = 6  # of a curve of gains


def vary(
    config: MixConfig, rng: BatchRng, read: Callable[[int], Tensor], size: int, wide_chance: float = 0.0
) -> Tensor:
    """Return `size` rows from read(samples), each perhaps at another speed, equalised, with a drifting gain: (B, N).

    wide_chance: that the speed is from the range `noise_speed`.
    """
    percent = torch.where(rng.coin(config.speed_chance, size), rng.uniform(*config.speed, size) * 100, 100.0)
    if wide_chance:  # in steps of 5 %, for each speed needs transforms of its own
        wide = (rng.uniform(*config.noise_speed, size) * 20).round().clamp_min(1) * 5
        percent = torch.where(rng.coin(wide_chance, size), wide, percent)
    needed = (percent.round() / 100 * config.samples).round().long()  # (B,), one of a few sizes
    audio = read(max(config.samples, *needed.tolist()))
    out = audio[:, : config.samples].clone()
    for samples in set(needed.tolist()) - {config.samples}:
        rows = torch.nonzero(needed == samples).flatten().to(rng.device)
        out[rows] = change_speed(audio[rows, :samples], config.samples)
    for chance, reach, change in (
        (config.eq_chance, config.eq, equalise),
        (config.gain_drift_chance, config.gain_drift, change_gain),
    ):
        if len(items := rng.items(chance, size)):
            rows, knots = items.to(rng.device), rng.draw((-reach, reach), len(items), KNOTS)
            out[rows] = change(out[rows], knots)
    return out

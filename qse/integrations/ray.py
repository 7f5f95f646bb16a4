"""Enhance the recordings of a Ray data set: one model per actor.

    from qse.integrations.ray import Denoise
    actors = ray.data.ActorPoolStrategy(size=8)
    clean = data.map_batches(Denoise, fn_constructor_kwargs={"strength": 12}, compute=actors)

The extra "ray" brings Ray. This module does not import it: the class can be used with anything that maps batches.
"""

from pathlib import Path

import numpy as np

from ..runtime.bands import BandModels
from ..runtime.denoise import denoise
from ..runtime.zoo import RECORDING_MODEL

Batch = dict[str, np.ndarray]


class Denoise:
    """Replace the audio of each row by the enhanced audio, of the same shape and dtype; other columns stay.

    A row holds an array (samples,) or (samples, channels) of floats in [-1, 1] in the column `audio`, and its sample
    rate in Hz in the column `sample_rate`. The samples are those of `qse.denoise`, whatever the batches and actors.
    """

    def __init__(
        self,
        model: str | Path = RECORDING_MODEL,
        strength: float | None = None,
        audio: str = "audio",
        sample_rate: str | int = "sample_rate",
    ):
        """`audio`: name of the audio column. `sample_rate`: name of the column with the sample rate, or one in Hz.

        `strength`: attenuation limit in dB; None: no limit. Raises QseError for an unknown model.
        """
        self._models = BandModels(model, flush_to_zero=True)
        self._strength, self._audio, self._rate = strength, audio, sample_rate

    def __call__(self, batch: Batch) -> Batch:
        """Return the batch with enhanced audio. Raises KeyError for a missing column, else what `qse.denoise` does."""
        noisy = batch[self._audio]
        rates = batch[self._rate] if isinstance(self._rate, str) else [self._rate] * len(noisy)
        enhanced = [
            denoise(np.asarray(row), int(rate), self._models.at(rate), self._strength)
            for row, rate in zip(noisy, rates, strict=True)
        ]
        if noisy.dtype != object:
            return batch | {self._audio: np.stack(enhanced) if enhanced else noisy}
        column = np.empty(len(enhanced), object)
        column[:] = enhanced
        return batch | {self._audio: column}

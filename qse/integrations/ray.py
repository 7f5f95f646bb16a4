"""Enhance the recordings of a Ray data set: one model per actor.

    from qse.integrations.ray import Denoise
    actors = ray.data.ActorPoolStrategy(size=8)
    clean = data.map_batches(Denoise, fn_constructor_kwargs={"strength": 12}, compute=actors)

The extra "ray" brings Ray. This module does not import it: the class can be used with anything that
maps batches.
"""

from pathlib import Path
from typing import Any

import numpy as np

from ..errors import QseError
from ..runtime.attenuation import noisy_share
from ..runtime.bands import FULL_BAND, BandModels
from ..runtime.denoise import denoise
from ..runtime.zoo import RECORDING_MODEL

Batch = dict[str, np.ndarray]


STATE = "qse_state"  # column: "done" or "failed", as in the manifests of qse clean
ERROR = "qse_error"  # column: why a row failed; empty for the others


class Denoise:
    """Replace the audio of each row by the enhanced audio, of the same shape and dtype.

    A row holds an array (samples,) or (samples, channels) of floats in [-1, 1] in the column
    `audio`, and its sample rate in Hz in the column `sample_rate`; rows of a batch may differ in
    both. The samples are those of `qse.denoise`, whatever the batches and actors. Other columns
    stay. Two are added: STATE and ERROR. The audio of a row that failed stays as it is.
    """

    def __init__(
        self,
        model: str | Path = RECORDING_MODEL,
        strength: float | None = None,
        audio: str = "audio",
        sample_rate: str | int = "sample_rate",
    ):
        """`audio`: name of the audio column. `sample_rate`: name of the column with the sample
        rate, or one in Hz.

        strength: attenuation limit in dB; None: no limit. Raises QseError for an unknown or damaged
        model, ValueError for a strength below 0.
        """
        noisy_share(strength)
        self._models = BandModels(model, flush_to_zero=True)
        self._models.at(FULL_BAND)  # what is wrong with the model is no fault of a row
        self._strength = strength
        self._audio = audio
        self._rate = sample_rate

    def __call__(self, batch: Batch) -> Batch:
        """Return the batch with enhanced audio, STATE and ERROR.

        Raises KeyError for a missing column, ValueError for a batch that has a column of these
        names.
        """
        taken = {STATE, ERROR} & batch.keys()
        if taken:
            raise ValueError(f"the rows have a column {min(taken)} already: rename it")

        noisy = batch[self._audio]
        rates = batch[self._rate] if isinstance(self._rate, str) else [self._rate] * len(noisy)
        enhanced = []
        errors = []
        for row, rate in zip(noisy, rates, strict=True):
            try:
                enhanced.append(self._enhanced(row, rate))
                errors.append("")
            except (QseError, TypeError, ValueError, OverflowError) as error:
                enhanced.append(row)
                errors.append(str(error) or repr(error))
        states = ["failed" if error else "done" for error in errors]
        added = {STATE: np.array(states, object), ERROR: np.array(errors, object)}
        return batch | {self._audio: _column(enhanced, noisy)} | added

    def _enhanced(self, row: Any, rate: Any) -> np.ndarray:
        audio = np.asarray(row)
        if audio.dtype == object and len(audio):  # lists of samples, as Arrow holds channels
            audio = np.stack(list(audio))
        return denoise(audio, int(rate), self._models.at(rate), self._strength)


def _column(rows: list[np.ndarray], noisy: np.ndarray) -> np.ndarray:
    """Return rows as a column like `noisy`: one array for rows of one shape, else an array of
    objects."""
    if noisy.dtype != object:
        return np.stack(rows) if rows else noisy
    column = np.empty(len(rows), object)
    for number, row in enumerate(rows):
        column[number] = row
    return column

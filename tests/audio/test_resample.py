"""Resampling block by block equals resampling at once."""

import numpy as np
import pytest
from audio_files import tone

from qse.audio.resample import Resampler


@pytest.mark.parametrize("rates", [(16000, 16000), (44100, 16000), (16000, 48000), (8000, 16000)])
def test_resampler_in_pieces_equals_soxr_at_once(rates):
    import soxr

    audio = tone(10000, 2)
    resampler = Resampler(*rates, 2)
    pieces = [resampler.process(piece) for piece in np.split(audio, [1, 100, 100, 5000])]
    out = np.concatenate([*pieces, resampler.finish()])
    np.testing.assert_allclose(out, soxr.resample(audio, *rates), atol=1e-6)

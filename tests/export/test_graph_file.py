"""The audio that graphs are compared on."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")


from qse.export.graph_file import speech_like


def test_speech_like_is_reproducible_and_within_full_scale():
    audio = speech_like(16000, 16000)
    assert (
        audio.dtype == np.float32
        and audio.shape == (16000,)
        and np.abs(audio).max() == pytest.approx(0.5)
    )
    assert np.array_equal(audio, speech_like(16000, 16000))
    assert not np.array_equal(audio, speech_like(16000, 16000, seed=1))

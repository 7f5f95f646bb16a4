"""The [mix] table."""

import dataclasses
import math

import pytest

torch = pytest.importorskip("torch")

from made_corpora import PLAIN, noise_corpus, speech_corpus

from qse.config import build
from qse.data.mix_config import MixConfig
from qse.data.noise_mixing import NoiseMixer
from qse.errors import QseError


def test_mix_config_with_a_number_that_no_float_holds():
    with pytest.raises(QseError, match="too large"):
        build(MixConfig, {"sample_rate": 10**400, "sustain_chance": 0.1}, "mix: ")


def test_mix_config_refuses():
    assert MixConfig(snr=[0, 10]).snr == (0, 10)
    for wrong in (
        {"snr": (10, 0)},
        {"room_chance": 1.5},
        {"level": (1.0,)},
        {"segment": 0.0},
        {"sample_rate": 0},
        {"babble_speakers": (0, 2)},
        {"sustain_pitch": (0.8, 1.2)},
        {"sustain": (-0.2, 1.0)},
        {"pause": (-1.0, 1.0)},
        {"segment": 0.06, "sustain_chance": 0.1},
        {"low_pass": (0.0, 10.0)},
        {"noise_count_weights": ()},
        {"noise_count_weights": (0.0,)},
        {"noise_count_weights": (-1.0, 2.0)},
        {"noise_count_weights": (math.nan,)},
        {"segment": math.inf},
        {"snr": (-math.inf, 20.0)},
        {"eq": math.nan},
        {"rt60": (0.1, math.inf)},
    ):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            MixConfig(**wrong)
    with pytest.raises(ValueError, match="8000"):
        NoiseMixer(dataclasses.replace(PLAIN, sample_rate=8000), speech_corpus(), noise_corpus())

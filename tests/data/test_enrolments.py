"""Test what a network is told of the talkers of a batch."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from made_corpora import RATE, only, sine, tone

from qse.data.corpus import Corpus
from qse.data.mix_config import MixConfig
from qse.data.noise_mixing import NoiseMixer
from qse.errors import QseError

TONES = (500, 1500)  # Hz of what the two talkers say
SETTINGS = only(
    segment=2.0,
    rooms=3,
    rt60=(0.15, 0.2),
    others_chance=1.0,
    others_count_weights=(1.0,),
    others_begin_chance=1.0,
    others_ratio=(6.0, 6.0),
    enrolled_ratio=(0.0, 0.0),
    enrolment_chance=0.5,
    enrolment=1.0,
    enrolment_absent_chance=0.3,
)


def mixed(rate: int = RATE, names: str = "aaaabbbb", **changes):
    """Return a batch of 32 items without noise, of eight recordings in the groups `names`."""
    config = MixConfig(**{**vars(SETTINGS), "sample_rate": rate, **changes})
    tones = [sine(hertz * RATE / rate, 4.0 * rate / RATE) for hertz in TONES]
    recordings = [tones[name == "b"] for name in names]
    groups = [{"v": "various-names"}.get(name, name) for name in names]
    speech = Corpus.of(recordings, groups, sample_rate=rate)
    silence = Corpus.of([np.zeros(rate, dtype="i2")], [""], sample_rate=rate)
    return NoiseMixer(config, speech, silence, seed=4).batch(0, 32)


def said(audio: torch.Tensor, rate: int = RATE) -> int:
    return max(TONES, key=lambda hertz: tone(audio, hertz, rate))


@pytest.mark.parametrize("rate", [16000, 48000])
def test_an_enrolment_is_of_the_talker_at_16_khz_or_of_nobody_here(rate):
    batch = mixed(rate)
    assert batch.enrolment.shape == (32, 16000)
    kinds = {"told": 0, "absent": 0, "not told": 0}
    for clean, enrolment in zip(batch.clean, batch.enrolment, strict=True):
        if not enrolment.any():
            kinds["not told"] += 1
        elif clean.any():
            kinds["told"] += 1
            assert said(enrolment) == said(clean, rate)
        else:
            kinds["absent"] += 1
    assert min(kinds.values()) >= 2


def test_others_are_never_in_the_target_of_an_item_whose_talker_is_told():
    batch = mixed(enrolment_chance=1.0, enrolment_absent_chance=0.0)
    for clean, enrolment in zip(batch.clean, batch.enrolment, strict=True):
        own = said(enrolment)
        assert tone(clean, sum(TONES) - own) < 0.01 * tone(clean, own)
    batch = mixed(enrolment_chance=1e-9)
    shares = []
    for clean in batch.clean:
        low, high = sorted(tone(clean, hertz) for hertz in TONES)
        shares.append(low / high)
    assert max(shares) > 0.1  # that of the other one, who began


def test_groups_of_several_speakers_or_few_recordings_are_not_told():
    for names, chosen in (("aaaabbb", 500), ("bbbbvvvvv", 1500)):
        batch = mixed(names=names, enrolment_chance=1.0, enrolment_absent_chance=0.0)
        told = [said(enrolment) for enrolment in batch.enrolment if enrolment.any()]
        assert set(told) == {chosen} and len(told) < 32
    with pytest.raises(QseError, match="no speaker has 4 recordings"):
        mixed(names="aaabbbvvvv")


def test_a_recipe_without_enrolments_keeps_its_batches():
    plain = {"enrolment_chance": 0.0}
    first = mixed(**plain)
    second = mixed(**plain, enrolment_absent_chance=0.9, enrolled_ratio=(9.0, 9.0))
    assert first.enrolment is None
    assert torch.equal(first.noisy, second.noisy)


def test_enrolments_need_other_talkers():
    with pytest.raises(ValueError, match="only where others_chance is above 0"):
        MixConfig(enrolment_chance=0.5)

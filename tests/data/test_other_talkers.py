"""Other talkers are noise once the talker has begun, and speech before."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from made_corpora import RATE, mixer, only, sine, tone

from qse.data.corpus import Corpus
from qse.data.mix_config import MixConfig
from qse.data.noise_mixing import NoiseMixer
from qse.data.talker_rooms import PLACES, talker_rooms

TALKERS = {"a": 500, "b": 1500}  # Hz of what they say
FAR = only(
    segment=2.0,
    rooms=3,
    rt60=(0.15, 0.2),
    others_chance=1.0,
    others_count_weights=(1.0,),
    others_ratio=(6.0, 6.0),
    room_chance=1.0,
)


def mixed(**changes):
    """Return a batch without noise, and which tone each talker of it has."""
    config = FAR.__class__(**{**vars(FAR), **changes})
    speech = Corpus.of([sine(hertz, 4.0) for hertz in TALKERS.values()], list(TALKERS))
    silence = Corpus.of([np.zeros(RATE, dtype="i2")], [""])
    batch = NoiseMixer(config, speech, silence, seed=4).batch(0, 16)
    late = batch.clean[:, RATE:]
    own = [max(TALKERS.values(), key=lambda hertz: tone(row, hertz)) for row in late]
    other = [sum(TALKERS.values()) - hertz for hertz in own]
    return batch, own, other


def test_another_talker_is_in_the_noisy_side_alone():
    batch, own, other = mixed()
    half = slice(RATE, 2 * RATE)
    for noisy, clean, talker, far in zip(batch.noisy, batch.clean, own, other, strict=True):
        assert tone(clean[half], far) < 0.003 * tone(clean[half], talker)
        ratio = 20 * np.log10(tone(noisy[half], talker) / tone(noisy[half], far))
        assert ratio == pytest.approx(6.0, abs=0.5)


def test_another_talker_is_the_target_until_the_talker_begins():
    batch, own, other = mixed(others_begin_chance=1.0)
    begins = 0
    for clean, talker, far in zip(batch.clean, own, other, strict=True):
        audio = clean.numpy()
        frames = [clean[place : place + 320] for place in range(0, len(audio) - 320, 320)]
        spoken = [tone(frame, talker) > 0.25 * tone(clean[RATE:], talker) for frame in frames]
        begin = spoken.index(True)
        before, after = frames[1 : begin - 1], frames[begin + 3 :]
        if len(before) > 5:
            begins += 1
            assert np.median([tone(frame, far) for frame in before]) > 0.01 * clean.abs().max()
        assert max(tone(frame, far) for frame in after) < 0.05 * clean.abs().max()
    assert begins > 8


def test_the_talker_ends_and_the_target_becomes_silent():
    batch, _, _ = mixed(others_remain_chance=1.0, distance=(0.1, 0.2), early_reflections=0.01)
    ended = 0
    for noisy, clean in zip(batch.noisy, batch.clean, strict=True):
        silent = clean.abs() < 1e-5 * clean.abs().max()
        if silent[-RATE // 4 :].all():
            ended += 1
            assert noisy[-RATE // 4 :].abs().max() > 0.1 * noisy.abs().max()
    assert ended > 10


def test_a_third_of_the_items_has_other_talkers():
    batch, own, other = mixed(others_chance=1 / 3)
    alone = sum(
        tone(noisy, far) < 0.003 * tone(noisy, talker)
        for noisy, talker, far in zip(batch.noisy, own, other, strict=True)
    )
    assert 7 <= alone <= 14  # of 16


def test_a_loudspeaker_changes_other_talkers_alone():
    plain, _, _ = mixed()
    played, _, _ = mixed(others_loudspeaker_chance=1.0, others_farther=(0.5, 0.6))
    assert (plain.noisy - played.noisy).abs().max() > 0.01


def test_recipes_without_other_talkers_keep_their_batches():
    same = only(others_ratio=(0.0, 1.0), others_begin_chance=1.0, others_remain_chance=1.0)
    for mine, theirs in zip(mixer(same).batch(2, 4)[:2], mixer().batch(2, 4)[:2], strict=True):
        assert torch.equal(mine, theirs)


def test_others_stand_farther_away():
    """The power of all reflections against the direct sound, which is 1, grows with the
    distance."""
    mix = MixConfig(
        rooms=40, rt60=(0.3, 0.3), distance=(0.2, 0.5), others_farther=(1.5, 2.5), segment=1.0
    )
    rooms = talker_rooms(mix, seed=1)
    assert rooms.talker.shape == (40, 4800) and rooms.others.shape == (40, PLACES, 4800)
    assert (rooms.talker[:, 0] >= 0.99).all() and (rooms.others[:, :, 0] >= 0.99).all()
    reflected = rooms.talker[:, 40:].square().sum(1)
    farther = rooms.others[:, :, 40:].square().sum(2)
    assert (farther > 2 * reflected[:, None]).float().mean() > 0.95
    assert torch.equal(rooms.others, talker_rooms(mix, seed=1).others)


@pytest.mark.parametrize(
    "wrong", [{"others_farther": (0.0, 1.0)}, {"others_count_weights": (0.0,)}]
)
def test_impossible_settings_of_other_talkers(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        MixConfig(**wrong)

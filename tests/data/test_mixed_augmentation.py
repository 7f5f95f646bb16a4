"""Each augmentation of the mixer is carried out."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from made_corpora import CHANCES, RATE, mixer, only, sine, snr, speech_corpus

from qse.data import noise_mixing, noise_sources, speech_source, variation
from qse.data.corpus import Corpus
from qse.data.noise_mixing import NoiseMixer


def first(audio, *_):
    return audio


def fitted(audio, samples):
    return torch.nn.functional.pad(audio, (0, samples - audio.shape[1]))


# chance -> where the function that carries it out is called, its name, and what changes nothing in
# its place
WITHOUT_EFFECT = {
    "coloured_chance": (noise_sources, "coloured", first),
    "speech_shaped_chance": (noise_sources, "speech_shaped", first),
    "hum_chance": (
        noise_sources,
        "hum",
        lambda mains, _, __, samples, rate: torch.zeros(len(mains), samples),
    ),
    "clicks_chance": (
        noise_sources,
        "clicks",
        lambda at, amplitude, burst, samples: torch.zeros(len(at), samples),
    ),
    "splice_chance": (noise_sources, "splice", first),
    "reverse_chance": (noise_sources, "reverse", first),
    "noise_room_chance": (noise_sources, "convolve", first),
    "noise_speed_chance": (variation, "change_speed", fitted),
    "speed_chance": (variation, "change_speed", fitted),
    "eq_chance": (variation, "equalise", first),
    "gain_drift_chance": (variation, "change_gain", first),
    "formant_chance": (speech_source, "shift_formants", first),
    "sustain_chance": (speech_source, "change_speed", fitted),
    "whisper_chance": (speech_source, "whisper", first),
    "room_chance": (noise_mixing, "reverberate", lambda audio, *_: (audio, audio)),
    "response_chance": (noise_mixing, "equalise", first),
    "low_pass_chance": (noise_mixing, "low_pass", first),
    "clip_chance": (noise_mixing, "soft_clip", first),
}


@pytest.mark.parametrize("chance", WITHOUT_EFFECT)
def test_mixer_applies_each_augmentation(monkeypatch, chance):
    """The same random numbers, and the function in the middle of it does nothing: another batch."""
    config = only(
        **{chance: 1.0}, speed=(0.9, 0.95), noise_speed=(0.5, 0.8), coloured_slope=(-9.0, -6.0)
    )
    noisy, clean, *_ = mixer(config).batch(3, 6)
    assert noisy.isfinite().all() and clean.isfinite().all()
    assert noisy.abs().amax() <= 1.001
    monkeypatch.setattr(*WITHOUT_EFFECT[chance])
    same_noisy, same_clean, *_ = mixer(config).batch(3, 6)
    apart = (noisy - same_noisy).abs().amax(1) + (clean - same_clean).abs().amax(1)
    assert (apart > 1e-3).all() if chance != "clip_chance" else (apart > 1e-6).any()


def test_all_chances_are_tested():
    """The others have tests of their own."""
    others = {"synthetic_only", "snr_low", "babble", "pause", "mute", "noise_only", "clean_only"}
    others |= {"others", "others_begin", "others_remain", "others_loudspeaker"}
    others |= {"enrolment", "enrolment_absent", "enrolled_near"}
    assert {f"{name}_chance" for name in others} == set(CHANCES) - set(WITHOUT_EFFECT)


def test_mixer_draws_low_snrs_from_their_own_range():
    config = only(snr=(10.0, 20.0), snr_low_chance=0.25, snr_low=(-15.0, -5.0))
    drawn = snr(*mixer(config).batch(0, 200)[:2])
    low = drawn < 0
    assert 0.15 < low.mean() < 0.35
    assert drawn[low].min() > -15.1 and drawn[low].max() < -4.9
    assert drawn[~low].min() > 9.9


def test_mixer_plays_noise_faster_and_slower():
    """Of a tone in every recording the frequency tells the speed; speech keeps its own."""
    tones = Corpus.of([sine(1000, 4.0)], [""])
    config = only(noise_speed_chance=1.0, noise_speed=(0.5, 2.0), noise_count_weights=(1.0,))
    noisy, clean, *_ = NoiseMixer(config, speech_corpus(), tones).batch(0, 60)
    # Hz, for a segment lasts a second
    peaks = np.abs(np.fft.rfft((noisy - clean).double())).argmax(1)
    assert 500 <= peaks.min() < 700 and 1700 < peaks.max() <= 2000
    assert len(set(peaks)) <= 31  # in steps of 5 %
    voices = np.abs(np.fft.rfft(clean.double())).argmax(1)
    assert set(np.round(voices / 100)) == {5, 15, 30}


def test_mixer_splices_two_recordings():
    tones = Corpus.of([sine(1000, 4.0), sine(2000, 4.0)], ["a", "b"])
    config = only(splice_chance=1.0, noise_count_weights=(1.0,), noise_balance=0.0)
    noisy, clean, *_ = NoiseMixer(config, speech_corpus(), tones).batch(0, 60)
    spectrum = np.abs(np.fft.rfft((noisy - clean).double()))[:, [1000, 2000]]
    both = spectrum.min(1) > 0.05 * spectrum.max(1)
    assert 0.3 < both.mean() < 0.7  # the other recording is a different one in half of the items


def test_mixer_response_filters_noisy_and_clean_alike():
    config = only(response_chance=1.0, response=12.0, clean_only_chance=1.0)
    noisy, clean, *_ = mixer(config).batch(0, 4)
    assert torch.equal(noisy, clean)
    plain = mixer(only(clean_only_chance=1.0)).batch(0, 4)[1]
    assert not torch.allclose(
        clean / clean.abs().amax(1, keepdim=True), plain / plain.abs().amax(1, keepdim=True)
    )


def test_mixer_puts_noise_in_rooms():
    """Noise that ends echoes on; speech and clean stay dry."""
    bursts = np.zeros(2 * RATE, "i2")
    bursts[RATE // 2 :: RATE] = 20000
    room = torch.zeros(1, 4000)
    room[0, 0] = 1.0
    room[0, 3000] = 0.5
    config = only(noise_room_chance=1.0, noise_count_weights=(1.0,))
    noisy, clean, *_ = NoiseMixer(
        config, speech_corpus(), Corpus.of([bursts], [""]), rooms=room
    ).batch(0, 20)
    found = 0
    for row in (noisy - clean).numpy():
        place = int(np.abs(row).argmax())
        if place + 3000 < len(row):
            found += 1
            assert row[place + 3000] / row[place] == pytest.approx(0.5, abs=0.02)
    assert found > 5

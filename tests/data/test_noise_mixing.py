"""Batches of the mixer: levels, kinds of items, speakers, rooms, voices."""

import dataclasses

import numpy as np
import pytest
import scipy.signal

torch = pytest.importorskip("torch")

from made_corpora import (
    CHANCES,
    PLAIN,
    RATE,
    mixer,
    noise_corpus,
    only,
    sine,
    snr,
    speech_corpus,
    white,
)

from qse.data.corpus import Corpus
from qse.data.enrolments import LEAST
from qse.data.noise_mixing import NoiseMixer


def test_mixer_reaches_snr_and_peak():
    noisy, clean, *_ = mixer(only(snr=(7.0, 7.0), level=(-20.0, -20.0), source_spread=6.0)).batch(
        0, 16
    )
    assert noisy.shape == clean.shape == (16, RATE)
    assert noisy.dtype == torch.float32
    np.testing.assert_allclose(snr(noisy, clean), 7.0, atol=0.01)
    np.testing.assert_allclose(np.abs(noisy.numpy()).max(1), 0.1, rtol=1e-4)


def test_mixer_fills_the_ranges():
    noisy, clean, *_ = mixer(only(snr=(-5.0, 20.0), level=(-40.0, 0.0))).batch(1, 200)
    for drawn, low, high in (
        (snr(noisy, clean), -5, 20),
        (20 * np.log10(np.abs(noisy.numpy()).max(1)), -40, 0),
    ):
        assert low - 0.1 <= drawn.min() < low + 2
        assert high - 2 < drawn.max() <= high + 0.1
        assert np.mean(drawn) == pytest.approx((low + high) / 2, abs=3)


def test_batch_depends_on_seed_rank_and_step_only():
    everything = only(**dict.fromkeys(set(CHANCES), 0.5))
    first = mixer(everything, seed=5)
    for step in range(3):
        first.batch(step, 4)
    again = mixer(everything, seed=5).batch(7, 4, rank=1)
    for one, other in zip(first.batch(7, 4, rank=1)[:2], again[:2], strict=True):
        assert torch.equal(one, other)
    others = (
        first.batch(8, 4, rank=1),
        first.batch(7, 4, rank=0),
        mixer(everything, seed=6).batch(7, 4, rank=1),
    )
    assert all(not torch.equal(again[0], noisy) for noisy, *_ in others)


def test_mixer_synthetic_noise_only():
    """Recordings of one tone and coloured noise: without the recordings, the tone is gone."""
    corpus = Corpus.of([sine(1000, 2.0)], [""])
    for alone in (0.0, 1.0):
        config = only(
            coloured_chance=1.0,
            coloured_slope=(0.0, 0.0),
            synthetic_only_chance=alone,
            source_spread=0.0,
        )
        noisy, clean, *_ = NoiseMixer(config, speech_corpus(), corpus).batch(0, 4)
        spectrum = np.abs(np.fft.rfft(noisy - clean))
        assert ((spectrum[:, 1000] > 20 * np.median(spectrum, 1)) == (not alone)).all()


def test_mixer_batches_are_finite():
    silence = Corpus.of([np.zeros(9000, "i2"), white(1.0, 4)], ["silent", "loud"])
    recordings = [np.zeros(9000, "i2"), sine(500, 0.7), sine(800, 0.01)] * LEAST
    speech = Corpus.of(recordings, ["silent", "a", "b"] * LEAST)
    config = only(
        **dict.fromkeys(CHANCES, 0.3), segment=0.25, noise_balance=0.0, speech_balance=0.0
    )
    for step in range(10):
        noisy, clean, *_ = NoiseMixer(config, speech, silence, 1).batch(step, 100)
        assert noisy.isfinite().all() and clean.isfinite().all()


def test_mixer_noise_only_and_clean_only():
    noisy, clean, *_ = mixer(only(noise_only_chance=1.0)).batch(0, 8)
    assert not clean.any() and noisy.any(dim=1).all()
    kinds = {"noise_only_chance", "clean_only_chance", "enrolment_absent_chance"}
    everything_else = dict.fromkeys(set(CHANCES) - kinds, 1.0)
    noisy, clean, *_ = mixer(only(clean_only_chance=1.0, **everything_else)).batch(0, 8)
    assert torch.equal(noisy, clean) and clean.any(dim=1).all()


def test_mixer_babble_is_of_other_speakers():
    config = only(
        babble_chance=1.0, synthetic_only_chance=1.0, babble_speakers=(4, 4), snr=(0.0, 0.0)
    )
    noisy, clean, *_ = mixer(config).batch(0, 12)
    spectrum = np.abs(np.fft.rfft(clean))[:, [500, 1500, 3000]]
    speaker = spectrum.argmax(1)
    assert set(speaker) == {0, 1, 2}
    others = np.abs(np.fft.rfft(noisy - clean))[:, [500, 1500, 3000]]
    assert (np.take_along_axis(others, speaker[:, None], 1)[:, 0] < 0.05 * others.max(1)).all()


@pytest.mark.parametrize("early", [0.05, 0.2])
def test_mixer_clean_keeps_early_reflections(early):
    """Check that noisy - clean without noise (silent recordings) is what arrives after the early
    part."""
    silence = Corpus.of([np.zeros(RATE, "i2")], [""])
    click = np.zeros(3 * RATE, "i2")
    click[::RATE] = 20000  # one click in every second
    config = only(room_chance=1.0, early_reflections=early, rt60=(0.3, 0.3))
    late = 0.0
    reach = round(early * RATE)
    for step in range(4):
        noisy, clean, *_ = NoiseMixer(config, Corpus.of([click], [""]), silence).batch(step, 2)
        at = clean.abs().argmax(1)
        for row, first in enumerate(at.tolist()):
            if first + reach < RATE and first > 5000:
                torch.testing.assert_close(
                    noisy[row, first : first + reach], clean[row, first : first + reach]
                )
                assert clean[row, first + reach - 160 : first + reach].any()
                assert clean[row, first + reach + 1 :].abs().max() < 1e-6
                late += noisy[row, first + reach + 1 :].square().sum().item()
    assert late > 0


def test_mixer_snr_in_a_room_counts_reverberation():
    """The same speech in the same rooms, once beside silence: but for a factor, that is what is
    heard beside noise."""
    config = only(
        room_chance=1.0,
        early_reflections=0.01,
        rt60=(0.8, 0.8),
        distance=(3.0, 3.0),
        snr=(7.0, 7.0),
    )
    silence = Corpus.of([np.zeros(2 * RATE, "i2")], [""])
    noise = Corpus.of([white(2.0, 2)], [""])
    (heard, alone, *_) = NoiseMixer(config, speech_corpus(), silence).batch(0, 16)
    (noisy, clean, *_) = NoiseMixer(config, speech_corpus(), noise).batch(0, 16)
    heard *= clean.norm(dim=1, keepdim=True) / alone.norm(dim=1, keepdim=True)
    np.testing.assert_allclose(snr(noisy, heard), 7.0, atol=0.05)
    assert snr(heard, clean).mean() < 10  # much of it is no early sound


def test_mixer_pauses_delay_speech():
    _, clean, *_ = mixer(only(pause_chance=1.0)).batch(0, 32)
    begins = (clean != 0).float().argmax(1)
    assert begins.max() > RATE / 4
    _, clean, *_ = mixer(PLAIN).batch(0, 32)
    assert (clean != 0).float().argmax(1).max() < 5


def test_mixer_sustains_vowels_only():
    """Utterances of 0.15 s of hiss and 0.6 s of a buzz at 200 Hz, each after a silence, at 1.25
    times the pitch."""
    buzz = np.zeros(9600)
    buzz[:: RATE // 200] = 6000
    words = Corpus.of(
        [np.concatenate([white(0.15, 7), np.convolve(buzz, [1, -0.5, 0.2])[:9600]]).astype("i2")],
        ["a"],
    )
    plain = only(
        segment=2.0, pause_chance=1.0, pause=(3.0, 3.0), level=(-6.0, -6.0), clean_only_chance=1.0
    )
    config = dataclasses.replace(
        plain, sustain_chance=0.5, sustain=(0.2, 0.2), sustain_pitch=(1.25, 1.25)
    )
    (_, rows, *_) = NoiseMixer(config, words, noise_corpus(), 2).batch(0, 12)
    (_, plain_rows, *_) = NoiseMixer(plain, words, noise_corpus(), 2).batch(0, 12)
    rounds = 4 * 768  # of twelve periods of 64 samples, the most that 3 / 60 s hold, for 0.2 s
    changed = [not torch.equal(row, same) for row, same in zip(rows, plain_rows, strict=True)]
    assert 2 < sum(changed) < 10
    for row, same in zip(rows[changed].numpy(), plain_rows[changed].numpy(), strict=True):
        begins = np.flatnonzero(same)[0] / 1.25
        sounds = np.flatnonzero(np.abs(row) > 1e-2)
        assert sounds[0] == pytest.approx(begins, abs=20)
        assert sounds[-1] == pytest.approx(begins + (2400 + 9600) / 1.25 + rounds, abs=80)
        hiss = slice(int(begins), int(begins) + 1900)
        assert np.corrcoef(row[hiss], scipy.signal.resample(same, 25600)[hiss])[0, 1] > 0.99
        vowel = row[int(begins) + 1930 : sounds[-1] - 80]
        assert np.corrcoef(vowel[:-64], vowel[64:])[0, 1] > 0.95


def test_mixer_sustains_nothing_without_a_vowel():
    hiss = Corpus.of([white(0.7, 8)], ["a"])
    plain = only(segment=2.0, pause_chance=1.0, pause=(3.0, 3.0), clean_only_chance=1.0)
    config = dataclasses.replace(
        plain, sustain_chance=1.0, sustain=(0.2, 0.2), sustain_pitch=(1.25, 1.25)
    )
    (_, rows, *_) = NoiseMixer(config, hiss, noise_corpus(), 2).batch(0, 4)
    (_, plain_rows, *_) = NoiseMixer(plain, hiss, noise_corpus(), 2).batch(0, 4)
    for row, same in zip(rows.numpy(), plain_rows.numpy(), strict=True):
        shorter = np.pad(scipy.signal.resample(same, 25600), (0, 6400))
        assert np.corrcoef(row, shorter)[0, 1] > 0.999


def test_mixer_mute_starts_at_once():
    late = mixer(dataclasses.replace(PLAIN, mute_chance=0.5, mute=(0.1, 0.3)))
    starts = []
    for step in range(20):
        for muted, whole in zip(late.batch(step, 4)[:2], mixer().batch(step, 4)[:2], strict=True):
            for row, reference in zip(muted, whole, strict=True):
                silent = (
                    int((row != reference).nonzero().max()) + 1
                    if not torch.equal(row, reference)
                    else 0
                )
                assert not row[:silent].any() and torch.equal(row[silent:], reference[silent:])
                starts.append(silent)
    later = [start for start in starts if start]
    assert 40 <= len(later) <= 120  # half of the 160, of both signals
    assert min(later) > 0.09 * RATE and max(later) <= 0.3 * RATE
    assert len({start % 160 for start in later}) > 20  # anywhere in a hop

"""Corpus and NoiseMixer on made-up recordings whose groups can be told apart by ear of a Fourier transform."""

import dataclasses
import math

import numpy as np
import pytest
import scipy.signal
import soundfile
import torch

from qse.data import augmentation as augment
from qse.data.corpus import Corpus
from qse.data.mix_config import MixConfig
from qse.data.noise_mixing import NoiseMixer
from qse.data.pair_folder import write_pairs
from qse.data.sampling import BatchRng, CorpusSampler
from qse.errors import QseError
from qse.train.validation import find_pairs, read_pairs

RATE = 16000
CHANCES = [field.name for field in dataclasses.fields(MixConfig) if field.name.endswith("_chance")]
PLAIN = MixConfig(segment=1.0, rooms=2, **dict.fromkeys(CHANCES, 0.0))


def sine(hertz: float, seconds: float, amplitude: float = 0.3) -> np.ndarray:
    return np.rint(32767 * amplitude * np.sin(2 * np.pi * hertz * np.arange(round(seconds * RATE)) / RATE)).astype("i2")


def white(seconds: float, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 3000, round(seconds * RATE)).astype("i2")


def speech_corpus() -> Corpus:
    """Three speakers: tones of 500, 1500 and 3000 Hz; utterances shorter and longer than a segment."""
    return Corpus.of([sine(hertz, seconds) for hertz in (500, 1500, 3000) for seconds in (0.4, 3.0)],
                     [name for name in "abc" for _ in range(2)])  # fmt: skip


def noise_corpus() -> Corpus:
    return Corpus.of([white(0.3, 1), white(2.0, 2), white(0.01, 3)], ["short", "long", "tiny"])


def mixer(config: MixConfig = PLAIN, seed: int = 0) -> NoiseMixer:
    return NoiseMixer(config, speech_corpus(), noise_corpus(), seed)


def only(**chances) -> MixConfig:
    return dataclasses.replace(PLAIN, **chances)


def snr(noisy: torch.Tensor, clean: torch.Tensor) -> np.ndarray:
    """By frames of 20 ms within 40 dB of the loudest, in NumPy."""

    def level(audio):
        power = (audio.double().numpy().reshape(-1, 320) ** 2).mean(1)
        return power[power >= power.max() * 1e-4].mean()

    return np.array([10 * np.log10(level(c) / level(n - c)) for n, c in zip(noisy, clean, strict=True)])


def test_reads_a_folder(tmp_path):
    stereo = np.stack([sine(500, 0.5), sine(500, 0.5)], axis=1)
    files = {
        "b/one.wav": (sine(440, 0.2), RATE),
        "a/deep/two.flac": (stereo, RATE),
        "a/three.wav": (sine(1000, 1.0, 0.5), RATE // 2),
        "top.wav": (sine(100, 0.1), RATE),
    }
    for name, (audio, rate) in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(tmp_path / name, audio, rate, subtype="PCM_16")
    (tmp_path / "a" / "notes.txt").write_text("not audio")
    corpus = Corpus.read(tmp_path)
    assert corpus.names == ("", "a", "b")
    assert corpus.groups.tolist() == [0, 1, 1, 2]
    files = [corpus.audio[s : s + n].numpy() for s, n in zip(corpus.starts, corpus.lengths, strict=True)]
    np.testing.assert_array_equal(files[0], sine(100, 0.1))
    np.testing.assert_array_equal(files[1], sine(500, 0.5))
    np.testing.assert_array_equal(files[3], sine(440, 0.2))
    assert len(files[2]) == 2 * RATE  # 8 kHz became 16 kHz, so 1000 Hz of a half-speed file is 500 Hz
    assert np.argmax(np.abs(np.fft.rfft(files[2]))) == 1000


def test_a_speaker_may_be_a_link(tmp_path):
    for name in ("here/a/one.wav", "there/two.wav", "secret/three.wav"):
        (tmp_path / name).parent.mkdir(parents=True)
        soundfile.write(tmp_path / name, sine(100, 0.1), RATE)
    (tmp_path / "here" / "b").symlink_to(tmp_path / "there")
    (tmp_path / "here" / ".hidden").symlink_to(tmp_path / "secret")
    (tmp_path / "there" / "round").symlink_to(tmp_path / "here")
    corpus = Corpus.read(tmp_path / "here")
    assert corpus.names == ("a", "b") and corpus.groups.tolist() == [0, 1]


def test_bad_folders_are_named(tmp_path):
    with pytest.raises(QseError, match="nowhere"):
        Corpus.read(tmp_path / "nowhere")
    with pytest.raises(QseError, match="no audio"):
        Corpus.read(tmp_path)
    (tmp_path / "text.wav").write_text("this is not a recording")
    soundfile.write(tmp_path / "empty.wav", np.zeros(0), RATE)
    soundfile.write(tmp_path / "nan.wav", np.full(10, np.nan), RATE, subtype="FLOAT")
    soundfile.write(tmp_path / "loud.wav", np.full(10, 32767.0), RATE, subtype="FLOAT")
    soundfile.write(tmp_path / "slow.wav", np.full(10, 0.5), 1)
    with pytest.raises(QseError, match=r"(?s)empty\.wav.*loud\.wav.*nan\.wav.*slow\.wav.*text\.wav"):
        Corpus.read(tmp_path)


def test_excerpts_are_the_recordings_at_their_places():
    corpus = speech_corpus()
    row = corpus.excerpts(*torch.tensor([[100], [2000], [50]]), 3000, 10)[0] * 32768
    assert not row[:50].any() and not row[2050:].any()
    torch.testing.assert_close(row[60:2040], corpus.audio[110:2090].float())


def test_loops_join_in_a_cross_fade():
    constant = Corpus.of([np.full(1000, 16384, "i2"), np.full(50, -9, "i2")], ["", ""])
    row = constant.loops(*torch.tensor([[0], [1000], [900], [300]]), 5000, 100)
    torch.testing.assert_close(row, torch.full((1, 5000), 0.5))
    gapped = constant.loops(*torch.tensor([[0], [1000], [1500], [0]]), 4500, 100)[0]
    assert (gapped == 0).sum() == pytest.approx(3 * 500, abs=3)


def test_snr_and_peak_are_reached():
    noisy, clean = mixer(only(snr=(7.0, 7.0), level=(-20.0, -20.0), source_spread=6.0)).batch(0, 16)
    assert noisy.shape == clean.shape == (16, RATE)
    assert noisy.dtype == torch.float32
    np.testing.assert_allclose(snr(noisy, clean), 7.0, atol=0.01)
    np.testing.assert_allclose(np.abs(noisy.numpy()).max(1), 0.1, rtol=1e-4)


def test_drawn_snr_and_level_fill_their_ranges():
    noisy, clean = mixer(only(snr=(-5.0, 20.0), level=(-40.0, 0.0))).batch(1, 200)
    for drawn, low, high in ((snr(noisy, clean), -5, 20), (20 * np.log10(np.abs(noisy.numpy()).max(1)), -40, 0)):
        assert low - 0.1 <= drawn.min() < low + 2
        assert high - 2 < drawn.max() <= high + 0.1
        assert np.mean(drawn) == pytest.approx((low + high) / 2, abs=3)


def test_a_batch_depends_on_seed_rank_and_step_alone():
    everything = only(**dict.fromkeys(set(CHANCES), 0.5))
    first = mixer(everything, seed=5)
    for step in range(3):
        first.batch(step, 4)
    again = mixer(everything, seed=5).batch(7, 4, rank=1)
    for one, other in zip(first.batch(7, 4, rank=1), again, strict=True):
        assert torch.equal(one, other)
    others = first.batch(8, 4, rank=1), first.batch(7, 4, rank=0), mixer(everything, seed=6).batch(7, 4, rank=1)
    assert all(not torch.equal(again[0], noisy) for noisy, _ in others)


def first(audio, *_):
    return audio


def fitted(audio, samples):
    return torch.nn.functional.pad(audio, (0, samples - audio.shape[1]))


WITHOUT = {  # chance -> the function that carries it out, and what does nothing in its place
    "coloured_chance": ("coloured", first),
    "speech_shaped_chance": ("speech_shaped", first),
    "hum_chance": ("hum", lambda mains, amplitude, phase, samples, rate: torch.zeros(len(mains), samples)),
    "clicks_chance": ("clicks", lambda position, amplitude, burst, samples: torch.zeros(len(position), samples)),
    "speed_chance": ("change_speed", fitted),
    "eq_chance": ("equalise", first),
    "gain_drift_chance": ("change_gain", first),
    "sustain_chance": ("change_speed", fitted),
    "whisper_chance": ("whispered", first),
    "room_chance": ("reverberate", lambda audio, *_: (audio, audio)),
    "low_pass_chance": ("low_pass", first),
    "clip_chance": ("soft_clip", first),
}


@pytest.mark.parametrize("chance", WITHOUT)
def test_every_augmentation_is_carried_out(monkeypatch, chance):
    """The same dice, and the function in the middle of it does nothing: another batch."""
    config = only(**{chance: 1.0}, speed=(0.9, 0.95), coloured_slope=(-9.0, -6.0))
    noisy, clean = mixer(config).batch(3, 6)
    assert noisy.isfinite().all() and clean.isfinite().all()
    assert noisy.abs().amax() <= 1.001
    name, nothing = WITHOUT[chance]
    monkeypatch.setattr(augment, name, nothing)
    same_noisy, same_clean = mixer(config).batch(3, 6)
    apart = (noisy - same_noisy).abs().amax(1) + (clean - same_clean).abs().amax(1)
    assert (apart > 1e-3).all() if chance != "clip_chance" else (apart > 1e-6).any()


def test_no_chance_is_forgotten():
    """The others have tests of their own."""
    others = {"synthetic_only", "babble", "pause", "mute", "noise_only", "clean_only"}
    assert {f"{name}_chance" for name in others} == set(CHANCES) - set(WITHOUT)


def test_noise_that_is_made_can_be_alone():
    """Recordings of one tone and coloured noise: without the recordings, the tone is gone."""
    corpus = Corpus.of([sine(1000, 2.0)], [""])
    for alone in (0.0, 1.0):
        config = only(coloured_chance=1.0, coloured_slope=(0.0, 0.0), synthetic_only_chance=alone, source_spread=0.0)
        noisy, clean = NoiseMixer(config, speech_corpus(), corpus).batch(0, 4)
        spectrum = np.abs(np.fft.rfft(noisy - clean))
        assert ((spectrum[:, 1000] > 20 * np.median(spectrum, 1)) == (not alone)).all()


def test_a_thousand_items_of_everything_are_finite():
    silence = Corpus.of([np.zeros(9000, "i2"), white(1.0, 4)], ["silent", "loud"])
    speech = Corpus.of([np.zeros(9000, "i2"), sine(500, 0.7), sine(800, 0.01)], ["silent", "a", "b"])
    config = only(**dict.fromkeys(CHANCES, 0.3), segment=0.25, noise_balance=0.0, speech_balance=0.0)
    for step in range(10):
        noisy, clean = NoiseMixer(config, speech, silence, 1).batch(step, 100)
        assert noisy.isfinite().all() and clean.isfinite().all()


def test_noise_only_and_clean_only():
    noisy, clean = mixer(only(noise_only_chance=1.0)).batch(0, 8)
    assert not clean.any() and noisy.any(dim=1).all()
    everything_else = dict.fromkeys(set(CHANCES) - {"noise_only_chance", "clean_only_chance"}, 1.0)
    noisy, clean = mixer(only(clean_only_chance=1.0, **everything_else)).batch(0, 8)
    assert torch.equal(noisy, clean) and clean.any(dim=1).all()


def test_clean_is_one_speaker_at_a_time_and_babble_others():
    config = only(babble_chance=1.0, synthetic_only_chance=1.0, babble_speakers=(4, 4), snr=(0.0, 0.0))
    noisy, clean = mixer(config).batch(0, 12)
    spectrum = np.abs(np.fft.rfft(clean))[:, [500, 1500, 3000]]
    speaker = spectrum.argmax(1)
    assert set(speaker) == {0, 1, 2}
    others = np.abs(np.fft.rfft(noisy - clean))[:, [500, 1500, 3000]]
    assert (np.take_along_axis(others, speaker[:, None], 1)[:, 0] < 0.05 * others.max(1)).all()


@pytest.mark.parametrize("early", [0.05, 0.2])
def test_rooms_add_only_late_sound(early):
    """Without noise (silent recordings), noisy - clean is what arrives after the early part."""
    silence = Corpus.of([np.zeros(RATE, "i2")], [""])
    click = np.zeros(3 * RATE, "i2")
    click[::RATE] = 20000  # one click in every second
    config = only(room_chance=1.0, early_reflections=early, rt60=(0.3, 0.3))
    late, reach = 0.0, round(early * RATE)
    for step in range(4):
        noisy, clean = NoiseMixer(config, Corpus.of([click], [""]), silence).batch(step, 2)
        at = clean.abs().argmax(1)
        for row, first in enumerate(at.tolist()):
            if first + reach < RATE and first > 5000:
                torch.testing.assert_close(noisy[row, first : first + reach], clean[row, first : first + reach])
                assert clean[row, first + reach - 160 : first + reach].any()
                assert clean[row, first + reach + 1 :].abs().max() < 1e-6
                late += noisy[row, first + reach + 1 :].square().sum().item()
    assert late > 0


def test_in_a_room_the_snr_is_that_of_what_is_heard():
    """The same speech in the same rooms, once beside silence: but for a factor, that is what is heard beside noise."""
    config = only(room_chance=1.0, early_reflections=0.01, rt60=(0.8, 0.8), distance=(3.0, 3.0), snr=(7.0, 7.0))
    silence, noise = (Corpus.of([recording], [""]) for recording in (np.zeros(2 * RATE, "i2"), white(2.0, 2)))
    (heard, alone), (noisy, clean) = (
        NoiseMixer(config, speech_corpus(), other).batch(0, 16) for other in (silence, noise)
    )
    heard *= clean.norm(dim=1, keepdim=True) / alone.norm(dim=1, keepdim=True)
    np.testing.assert_allclose(snr(noisy, heard), 7.0, atol=0.05)
    assert snr(heard, clean).mean() < 10  # much of it is no early sound


def test_groups_are_drawn_by_the_root_of_their_duration():
    corpus = Corpus.of([sine(500, 9.0), sine(500, 0.5), sine(500, 0.5)], ["long", "short", "short"])
    dice = BatchRng(0, 0, 0, torch.device("cpu"))
    for balance, expected in ((0.0, 1 / 2), (0.5, 3 / 4), (1.0, 9 / 10)):
        share = (CorpusSampler(corpus, balance).groups(dice, 4000) == 0).float().mean().item()
        assert share == pytest.approx(expected, abs=0.03)


def test_pauses_leave_room_before_the_speech():
    _, clean = mixer(only(pause_chance=1.0)).batch(0, 32)
    begins = (clean != 0).float().argmax(1)
    assert begins.max() > RATE / 4
    _, clean = mixer(PLAIN).batch(0, 32)
    assert (clean != 0).float().argmax(1).max() < 5


def test_a_vowel_lasts_in_a_higher_voice_and_nothing_else_does():
    """Utterances of 0.15 s of hiss and 0.6 s of a buzz at 200 Hz, each after a silence, at 1.25 times the pitch."""
    buzz = np.zeros(9600)
    buzz[:: RATE // 200] = 6000
    words = Corpus.of([np.concatenate([white(0.15, 7), np.convolve(buzz, [1, -0.5, 0.2])[:9600]]).astype("i2")], ["a"])
    plain = only(segment=2.0, pause_chance=1.0, pause=(3.0, 3.0), level=(-6.0, -6.0), clean_only_chance=1.0)
    config = dataclasses.replace(plain, sustain_chance=0.5, sustain=(0.2, 0.2), sustain_pitch=(1.25, 1.25))
    (_, rows), (_, plain_rows) = (NoiseMixer(c, words, noise_corpus(), 2).batch(0, 12) for c in (config, plain))
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


def test_without_a_vowel_nothing_lasts():
    hiss = Corpus.of([white(0.7, 8)], ["a"])
    plain = only(segment=2.0, pause_chance=1.0, pause=(3.0, 3.0), clean_only_chance=1.0)
    config = dataclasses.replace(plain, sustain_chance=1.0, sustain=(0.2, 0.2), sustain_pitch=(1.25, 1.25))
    (_, rows), (_, plain_rows) = (NoiseMixer(c, hiss, noise_corpus(), 2).batch(0, 4) for c in (config, plain))
    for row, same in zip(rows.numpy(), plain_rows.numpy(), strict=True):
        shorter = np.pad(scipy.signal.resample(same, 25600), (0, 6400))
        assert np.corrcoef(row, shorter)[0, 1] > 0.999


def test_a_microphone_that_is_switched_on_is_heard_all_at_once():
    late = mixer(dataclasses.replace(PLAIN, mute_chance=0.5, mute=(0.1, 0.3)))
    starts = []
    for step in range(20):
        for muted, whole in zip(late.batch(step, 4), mixer().batch(step, 4), strict=True):
            for row, reference in zip(muted, whole, strict=True):
                silent = int((row != reference).nonzero().max()) + 1 if not torch.equal(row, reference) else 0
                assert not row[:silent].any() and torch.equal(row[silent:], reference[silent:])
                starts.append(silent)
    later = [start for start in starts if start]
    assert 40 <= len(later) <= 120  # half of the 160, of both signals
    assert min(later) > 0.09 * RATE and max(later) <= 0.3 * RATE
    assert len({start % 160 for start in later}) > 20  # anywhere in a hop


def test_config_refuses_nonsense():
    assert MixConfig(snr=[0, 10]).snr == (0, 10)
    for wrong in (
        {"snr": (10, 0)}, {"room_chance": 1.5}, {"level": (1.0,)}, {"segment": 0.0}, {"sample_rate": 0},
        {"babble_speakers": (0, 2)}, {"sustain_pitch": (0.8, 1.2)}, {"sustain": (-0.2, 1.0)}, {"pause": (-1.0, 1.0)},
        {"segment": 0.06, "sustain_chance": 0.1},
        {"low_pass": (0.0, 10.0)}, {"noise_count_weights": ()}, {"noise_count_weights": (0.0,)},
        {"noise_count_weights": (-1.0, 2.0)}, {"noise_count_weights": (math.nan,)},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=next(iter(wrong))):
            MixConfig(**wrong)
    with pytest.raises(ValueError, match="8000"):
        NoiseMixer(dataclasses.replace(PLAIN, sample_rate=8000), speech_corpus(), noise_corpus())


@pytest.fixture
def folders(tmp_path):
    """Speech below 3.5 kHz and noise, on disk."""
    for name, corpus in (("speech", speech_corpus()), ("noise", noise_corpus())):
        for index, (start, length) in enumerate(zip(corpus.starts, corpus.lengths, strict=True)):
            path = tmp_path / name / corpus.names[corpus.groups[index]] / f"{index}.wav"
            path.parent.mkdir(parents=True, exist_ok=True)
            soundfile.write(path, corpus.audio[start : start + length].numpy(), RATE)
    return "--speech", tmp_path / "speech", "--noise", tmp_path / "noise"


def test_pairs_are_mixed_into_a_folder(folders, tmp_path, command):
    chances = [word for chance in CHANCES for word in ("--set", f"mix.{chance}=0")]
    asked = ("--set", "mix.snr=[7, 7]", "--set", "mix.level=[-20, -20]", "--set", "mix.source_spread=6", *chances)
    line = ("mix", *folders, "--count", 3, "--seconds", 1.5, *asked)
    status, _, err = command(*line, "--out", tmp_path / "set")
    assert status == 0 and f"3 pairs of 1.5 s written to {tmp_path / 'set'}" in err
    pairs = read_pairs(find_pairs(tmp_path / "set", RATE))
    assert [pair.name for pair in pairs] == ["0001", "0002", "0003"]
    assert {len(pair.noisy) for pair in pairs} == {RATE * 3 // 2}
    noisy, clean = (torch.from_numpy(np.stack(side)) for side in zip(*((p.noisy, p.clean) for p in pairs), strict=True))
    np.testing.assert_allclose(snr(noisy, clean), 7.0, atol=0.05)
    np.testing.assert_allclose(noisy.abs().amax(1), 0.1, atol=1e-4)
    assert command(*line, "--out", tmp_path / "again")[0] == 0
    for path in (tmp_path / "set").rglob("*.flac"):
        assert path.read_bytes() == (tmp_path / "again" / path.relative_to(tmp_path / "set")).read_bytes()
    assert command(*line, "--set", "train.seed=1", "--out", tmp_path / "other")[0] == 0
    assert (tmp_path / "set/noisy/0001.flac").read_bytes() != (tmp_path / "other/noisy/0001.flac").read_bytes()


def test_pairs_lie_in_rooms_that_no_run_of_the_same_seed_has(folders, tmp_path, monkeypatch):
    made, mix = [], MixConfig(rooms=2)
    init = NoiseMixer.__init__
    monkeypatch.setattr(
        NoiseMixer, "__init__", lambda self, *given, **named: (init(self, *given, **named), made.append(self))[0]
    )
    write_pairs(mix, folders[1], folders[3], tmp_path / "set", 1)
    NoiseMixer(mix, *(Corpus.read(folder) for folder in folders[1::2]))
    pairs, run = made
    assert pairs.rooms.shape == run.rooms.shape and not torch.isclose(pairs.rooms, run.rooms)[:, 1:].all(1).any()


def test_mixed_pairs_are_never_clipped_nor_without_noise(folders, tmp_path, command):
    asked = ("mix.level=[0, 0]", "mix.snr=[-30, -25]", "mix.noise_only_chance=1", "mix.clean_only_chance=1")
    line = ("mix", *folders, "--count", 6, *(word for change in asked for word in ("--set", change)))
    assert command(*line, "--out", tmp_path / "set")[0] == 0
    for pair in read_pairs(find_pairs(tmp_path / "set", RATE)):
        assert max(np.abs(pair.clean).max(), np.abs(pair.noisy).max()) <= 1
        assert np.abs(pair.noisy - pair.clean).max() > 0.1


def test_what_mix_refuses_it_refuses_before_it_writes(folders, tmp_path, command):
    (tmp_path / "taken").mkdir()
    status, _, err = command("mix", *folders, "--out", tmp_path / "taken")
    assert status == 1 and err == f"qse: {tmp_path / 'taken'} is there already: name a new folder\n"
    status, _, err = command("mix", *folders[:3], tmp_path / "taken", "--out", tmp_path / "set")
    assert status == 1 and "no audio files" in err and not (tmp_path / "set").exists()
    (tmp_path / "file").write_text("")
    status, _, err = command("mix", *folders, "--out", tmp_path / "file" / "set")
    assert status == 1 and "cannot be written" in err

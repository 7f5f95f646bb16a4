"""Official corpora as sources of a run."""

import os
import shutil
import stat

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import soundfile
from official_corpora import dns3, dns3_of_ten, voicebank

from qse.data import datasets, open_sources
from qse.data.cached_corpus import CorpusCache
from qse.data.datasets import Pair
from qse.data.dns3_source import talker
from qse.data.mix_config import MixConfig
from qse.data.room_simulation import measured_bank
from qse.errors import QseError
from qse.train.validation_pairs import read_pairs

CPU = torch.device("cpu")


def test_measured_bank_starts_at_the_direct_sound():
    responses = [np.array([0, 3, -80, 40, 20, 10], np.int16), np.array([100, 50], np.int16)]
    responses.append(np.array([64, -32768, 16384], np.int16))  # clipped at the lowest number
    bank = measured_bank(responses, 3)
    assert bank.tolist() == [[1.0, -0.5, -0.25], [1.0, 0.5, 0.0], [1.0, -0.5, 0.0]]


def test_dns3_uses_measured_rooms(tmp_path):
    mix = MixConfig(segment=0.5, rooms=5)
    source = open_sources.dns3(dns3(tmp_path, 16000), mix, 0, CPU)
    root = tmp_path / "datasets/impulse_responses"
    expected = []
    for path in sorted(root.rglob("*.wav")):
        response = soundfile.read(path)[0][50:, 0]
        expected.append(np.pad(response / response[0], (0, 16000 - len(response))))
    found = sorted(source.rooms.tolist())
    np.testing.assert_allclose(found, sorted(map(list, expected)), atol=1e-4)


def test_voicebank_holds_pairs_out(tmp_path):
    data = voicebank(tmp_path / "data", 16000)
    for side in ("clean", "noisy"):
        shutil.rmtree(data / f"{side}_testset_wav")
    (held,) = read_pairs(open_sources.validation("voicebank", data, MixConfig()))
    for seed in range(3):  # each pair has a length of its own
        trained = open_sources.voicebank(data, MixConfig(), seed, CPU).noisy.lengths.tolist()
        assert sorted([*trained, len(held.noisy)]) == [16000 + 800 * number for number in range(5)]


def test_dns3_holds_talkers_and_noises_out(tmp_path, monkeypatch):
    """Pairs of two of ten talkers; what they say, and a noise, are not in the training data."""
    monkeypatch.setenv("QSE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("qse.data.dns3_source.PAIRS", 3)
    data = dns3_of_ten(tmp_path / "data")
    mix = MixConfig(segment=0.5, rooms=2)
    used = []
    original = CorpusCache.corpus

    def corpus(cache, paths, *arguments, **named):
        used.append({path.name for path in paths})
        return original(cache, paths, *arguments, **named)

    monkeypatch.setattr(CorpusCache, "corpus", corpus)
    pairs = open_sources.validation("dns3", data, mix)
    held_speech, held_noise = used
    open_sources.dns3(data, mix, 0, CPU)
    speech, noise = used[2:]
    assert len(held_speech) == 2 and len(speech) == 10 and not held_speech & speech
    talkers = {name.split("_")[3] for name in held_speech}
    assert len(talkers) == 2 and "00009" not in talkers  # who has a fifth of the files
    assert not talkers & {name.split("_")[3] for name in speech}
    assert len(held_noise) == 1 and len(noise) == 4 and not held_noise & noise
    assert [len(pair.noisy) for pair in read_pairs(pairs)] == 3 * [4 * 16000]
    before = [pair.noisy.read_bytes() for pair in pairs]
    assert [
        pair.noisy.read_bytes() for pair in open_sources.validation("dns3", data, mix)
    ] == before
    assert len(used) == 4  # they are mixed once


@pytest.mark.parametrize("place", ["parts-16000", "parts-16000/speech-16000.int16"])
def test_a_store_of_parts_that_leads_elsewhere(tmp_path, place):
    """As one from an archive may."""
    path = tmp_path / "run" / place
    path.parent.mkdir(parents=True)
    mix = MixConfig(segment=0.5, rooms=2)
    assert open_sources.decoded_parts(tmp_path / "run", mix, 0.0).found() == {}
    path.symlink_to(tmp_path / "cache")
    with pytest.raises(QseError, match="is a link"):
        open_sources.decoded_parts(tmp_path / "run", mix, 0.0)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_dns3_pairs_of_private_rooms_are_private(tmp_path, monkeypatch):
    monkeypatch.setenv("QSE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("qse.data.dns3_source.PAIRS", 1)
    data = dns3_of_ten(tmp_path / "data")
    for path in (data / "datasets/impulse_responses").rglob("*.wav"):
        path.chmod(0o600)
    (pair,) = open_sources.validation("dns3", data, MixConfig(segment=0.5, rooms=2))
    assert stat.S_IMODE(pair.noisy.stat().st_mode) == 0o600


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_dns3_pairs_of_private_copies_are_private(tmp_path, monkeypatch):
    """As of other recordings, which have got the name of the copies in a folder of several."""
    monkeypatch.setenv("QSE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("qse.data.dns3_source.PAIRS", 1)
    mix = MixConfig(segment=0.5, rooms=2)
    (pair,) = open_sources.validation("dns3", data := dns3_of_ten(tmp_path / "data"), mix)
    (speech,) = (tmp_path / "cache").rglob("clean.int16")
    speech.chmod(0o600)
    shutil.rmtree(pair.noisy.parents[1])
    (pair,) = open_sources.validation("dns3", data, mix)
    assert stat.S_IMODE(pair.noisy.stat().st_mode) == 0o600


@pytest.mark.parametrize("part", ["clean", "noise", "impulse_responses"])
def test_dns3_pairs_are_mixed_anew_from_other_files_of_the_same_names(tmp_path, monkeypatch, part):
    monkeypatch.setenv("QSE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("qse.data.dns3_source.PAIRS", 8)
    data = dns3_of_ten(tmp_path / "data")
    mix = MixConfig(segment=0.5, rooms=2)

    def mixed():
        pairs = open_sources.validation("dns3", data, mix)
        return pairs, np.concatenate([soundfile.read(pair.noisy)[0] for pair in pairs])

    before, sound = mixed()
    assert mixed()[0] == before
    for path in (data / "datasets" / part).rglob("*.wav"):
        audio, rate = soundfile.read(path)
        soundfile.write(path, np.random.default_rng(0).uniform(-0.5, 0.5, audio.shape), rate)
    open_sources.prepare("dns3", data, mix)
    after, other = mixed()
    assert after != before and not np.array_equal(sound, other)


def test_dns3_is_listed_once_at_the_start_of_a_run(tmp_path, monkeypatch):
    """And anew at the start of the next one, which may find new files."""
    monkeypatch.setenv("QSE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("qse.data.dns3_source.PAIRS", 1)
    data = dns3_of_ten(tmp_path / "data")
    mix = MixConfig(segment=0.5, rooms=2)
    listed = []
    original = datasets.audio_files

    def audio_files(folder):
        listed.append(folder.name)
        return original(folder)

    monkeypatch.setattr(datasets, "audio_files", audio_files)
    for run in (1, 2):
        open_sources.prepare("dns3", data, mix)
        open_sources.dns3(data, mix, 0, CPU)
        open_sources.validation("dns3", data, mix)
        assert listed.count("impulse_responses") == run


@pytest.mark.parametrize(
    "path, name",
    [
        ("read_speech/book_00000_chp_0009_reader_06709_0_seg_1.wav", "reader_06709"),
        ("french_speech/M-AILABS/fr_FR/female/ezwa/book/wavs/x_f000182.wav", "female/ezwa"),
        ("mandarin_speech/S0002/BAC009S0002W0122.wav", "mandarin_speech/S0002"),
    ],
)
def test_talker_by_path(path, name):
    assert talker(path) == name


def test_dns3_follows_links(tmp_path):
    root = dns3(tmp_path / "data", 16000) / "datasets"
    (root / "clean/read_speech").rename(tmp_path / "elsewhere")
    (root / "clean/read_speech").symlink_to(tmp_path / "elsewhere")
    assert [path.parent.name for path in datasets.dns3(root).clean] == [
        "french_speech",
        "read_speech",
        "read_speech",
    ]


def test_validation_holds_out_a_hundred_pairs(monkeypatch):
    pairs = [Pair(str(number), "noisy", "clean") for number in range(600)]
    monkeypatch.setattr("qse.data.datasets.voicebank_files", lambda *_: pairs)
    monkeypatch.setattr("qse.data.copies.with_copies", lambda pairs, _: pairs)
    held = {pair.name for pair in open_sources.validation("voicebank", "", MixConfig())}
    assert len(held) == 100 and held != {str(number) for number in range(100)}

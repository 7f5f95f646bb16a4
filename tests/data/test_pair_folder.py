"""Pairs mixed into a folder."""

import os

import numpy as np
import pytest
import soundfile

torch = pytest.importorskip("torch")

from made_corpora import CHANCES, RATE, noise_corpus, snr, speech_corpus

from qse.audio.claim import claim
from qse.data.corpus import Corpus
from qse.data.mix_config import MixConfig
from qse.data.noise_mixing import NoiseMixer
from qse.data.pair_folder import write_pairs
from qse.train.validation_pairs import find_pairs, read_pairs


@pytest.fixture
def folders(tmp_path):
    """Speech below 3.5 kHz and noise, on disk."""
    for name, corpus in (("speech", speech_corpus()), ("noise", noise_corpus())):
        for index, (start, length) in enumerate(zip(corpus.starts, corpus.lengths, strict=True)):
            path = tmp_path / name / corpus.names[corpus.groups[index]] / f"{index}.wav"
            path.parent.mkdir(parents=True, exist_ok=True)
            soundfile.write(path, corpus.audio[start : start + length].numpy(), RATE)
    return "--speech", tmp_path / "speech", "--noise", tmp_path / "noise"


def settings(changes):
    """Return the options that change a configuration."""
    words = []
    for change in changes:
        words += ["--set", change]
    return words


def test_mix_writes_pairs(folders, tmp_path, command):
    chances = [f"mix.{chance}=0" for chance in CHANCES]
    asked = ("mix.snr=[7, 7]", "mix.level=[-20, -20]", "mix.source_spread=6", *chances)
    line = ("mix", *folders, "--count", 3, "--seconds", 1.5, *settings(asked))
    status, _, err = command(*line, "--out", tmp_path / "set")
    assert status == 0 and f"3 pairs of 1.5 s written to {tmp_path / 'set'}" in err
    pairs = read_pairs(find_pairs(tmp_path / "set", RATE))
    assert [pair.name for pair in pairs] == ["0001", "0002", "0003"]
    assert {len(pair.noisy) for pair in pairs} == {RATE * 3 // 2}
    noisy = torch.from_numpy(np.stack([pair.noisy for pair in pairs]))
    clean = torch.from_numpy(np.stack([pair.clean for pair in pairs]))
    np.testing.assert_allclose(snr(noisy, clean), 7.0, atol=0.05)
    np.testing.assert_allclose(noisy.abs().amax(1), 0.1, atol=1e-4)
    assert command(*line, "--out", tmp_path / "again")[0] == 0
    for path in (tmp_path / "set").rglob("*.flac"):
        assert (
            path.read_bytes()
            == (tmp_path / "again" / path.relative_to(tmp_path / "set")).read_bytes()
        )
    assert command(*line, "--set", "train.seed=1", "--out", tmp_path / "other")[0] == 0
    assert (tmp_path / "set/noisy/0001.flac").read_bytes() != (
        tmp_path / "other/noisy/0001.flac"
    ).read_bytes()


def test_mix_on_a_disk_that_is_full_at_the_end(folders, tmp_path, command, monkeypatch):
    """libsndfile writes the last frame when it closes the file, and reports no failure."""
    write = soundfile.write

    def short(path, *rest, **form):
        write(path, *rest, **form)
        os.truncate(path, os.path.getsize(path) - 100)

    monkeypatch.setattr("qse.data.pair_folder.soundfile.write", short)
    line = ("mix", *folders, "--count", 1, "--seconds", 1.5, "--out", tmp_path / "set")
    status, _, err = command(*line)
    assert status == 1 and "is the disk full?" in err and not (tmp_path / "set").exists()


def test_write_pairs_uses_other_rooms_than_a_run(folders, tmp_path, monkeypatch):
    made = []
    mix = MixConfig(rooms=2)
    init = NoiseMixer.__init__
    monkeypatch.setattr(
        NoiseMixer,
        "__init__",
        lambda self, *given, **named: (init(self, *given, **named), made.append(self))[0],
    )
    write_pairs(mix, folders[1], folders[3], tmp_path / "set", 1)
    NoiseMixer(mix, *(Corpus.read(folder) for folder in folders[1::2]))
    pairs, run = made
    assert (
        pairs.rooms.shape == run.rooms.shape
        and not torch.isclose(pairs.rooms, run.rooms)[:, 1:].all(1).any()
    )


def test_mix_pairs_are_noisy_and_not_clipped(folders, tmp_path, command):
    asked = (
        "mix.level=[0, 0]",
        "mix.snr=[-30, -25]",
        "mix.noise_only_chance=1",
        "mix.clean_only_chance=1",
    )
    line = ("mix", *folders, "--count", 6, *settings(asked))
    assert command(*line, "--out", tmp_path / "set")[0] == 0
    for pair in read_pairs(find_pairs(tmp_path / "set", RATE)):
        assert max(np.abs(pair.clean).max(), np.abs(pair.noisy).max()) <= 1
        assert np.abs(pair.noisy - pair.clean).max() > 0.1


def test_mix_refuses_before_writing(folders, tmp_path, command):
    (tmp_path / "taken").mkdir()
    status, _, err = command("mix", *folders, "--out", tmp_path / "taken")
    assert status == 1 and err == f"qse: {tmp_path / 'taken'} is there already: name a new folder\n"
    status, _, err = command("mix", *folders[:3], tmp_path / "taken", "--out", tmp_path / "set")
    assert status == 1 and "no audio files" in err and not (tmp_path / "set").exists()
    (tmp_path / "file").write_text("")
    status, _, err = command("mix", *folders, "--out", tmp_path / "file" / "set")
    assert status == 1 and "cannot be written" in err


def test_two_processes_do_not_mix_into_one_folder(folders, tmp_path, command):
    with claim(tmp_path / "set"):
        status, _, err = command("mix", *folders, "--count", 1, "--out", tmp_path / "set")
    assert status == 1 and "set: another process writes pairs there; name another folder" in err
    assert not (tmp_path / "set").exists()

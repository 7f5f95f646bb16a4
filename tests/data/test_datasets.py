"""Test sets on disk: pairs of files, layouts of VoiceBank+DEMAND and of DNS-Challenge 3."""

import numpy as np
import pytest
from evaluation_files import write

from qse.data import copies, datasets
from qse.data.recordings import read_mono
from qse.errors import QseError
from qse.evaluate.computing_systems import FolderSystem


def test_pair_folders_matches_names_and_marks(tmp_path):
    for path in (
        "noisy/a.wav",
        "noisy/b/c.flac",
        "noisy/x_snr5_fileid_7.wav",
        "clean/a.flac",
        "clean/b/c.wav",
    ):
        write(tmp_path / path, np.zeros(10))
    write(tmp_path / "clean/clean_fileid_7.wav", np.zeros(10))
    write(tmp_path / "clean/d.wav", np.zeros(10))
    pairs = datasets.pair_folders(tmp_path / "noisy", tmp_path / "clean")
    assert [pair.name for pair in pairs] == ["a", "b/c", "d", "fileid_7"]
    assert pairs[2].noisy is None and pairs[3].clean.name == "clean_fileid_7.wav"
    # a mark that tells no more who belongs to whom
    write(tmp_path / "noisy/b/y_fileid_7.wav", np.zeros(10))
    names = ["a", "b/c", "b/y_fileid_7", "x_snr5_fileid_7"]
    assert [pair.name for pair in datasets.pair_folders(tmp_path / "noisy")] == names
    # one of the two: found by its name or its mark
    write(tmp_path / "enhanced/x_snr5_fileid_7.wav", np.zeros(10))
    system = FolderSystem("other", tmp_path / "enhanced")
    for name in ("x_snr5_fileid_7", "fileid_7"):
        assert set(system.prepared([datasets.Pair(name, None)]).outputs()) == {name}
    write(tmp_path / "clean/a.wav", np.zeros(10))
    with pytest.raises(QseError, match=r"both called a"):
        datasets.pair_folders(tmp_path / "noisy", tmp_path / "clean")


def test_sub_folders_may_differ_where_names_are_unique(tmp_path):
    for name in ("u0", "u1", "same"):
        write(tmp_path / f"clean/{name}.wav", np.zeros(10))
        write(tmp_path / f"noisy/deep/{name}.wav", np.zeros(10))
    write(tmp_path / "noisy/other/same.wav", np.zeros(10))
    pairs = datasets.pair_folders(tmp_path / "noisy", tmp_path / "clean")
    whole = [pair.name for pair in pairs if pair.noisy and pair.clean]
    assert whole == ["deep/u0", "deep/u1"]
    assert [pair.name for pair in pairs] == ["deep/same", *whole, "other/same", "same"]

    flat = [datasets.Pair(name, None) for name in ("u0", "u1", "same")]
    found = FolderSystem("other", tmp_path / "noisy").prepared(flat).outputs()
    assert {name: path.parent.name for name, path in found.items()} == {"u0": "deep", "u1": "deep"}


def test_voicebank_converts_48_khz_once(tmp_path):
    tone = 0.5 * np.sin(2 * np.pi * 1000 * np.arange(48000) / 48000)
    for side in ("clean", "noisy"):
        for part in ("trainset_28spk", "testset"):
            write(tmp_path / f"{side}_{part}_wav" / "p232_001.wav", tone, 48000)
    (pair,) = copies.voicebank(tmp_path, "test")
    audio, sample_rate = read_mono(pair.clean)
    middle = np.arange(2000, 14000)
    assert (len(audio), sample_rate) == (16000, 16000)
    np.testing.assert_allclose(
        audio[middle], 0.5 * np.sin(2 * np.pi * 1000 * middle / 16000), atol=1e-4
    )
    written = pair.clean.stat().st_mtime_ns
    assert copies.voicebank(tmp_path, "test") == [pair] and pair.clean.stat().st_mtime_ns == written
    assert [p.name for p in copies.voicebank(tmp_path, "train")] == ["p232_001"]


def test_voicebank_keeps_16_khz_files(tmp_path):
    for side in ("clean", "noisy"):
        write(tmp_path / f"{side}_testset_wav" / "p232_001.wav", np.zeros(100))
    (tmp_path / "noisy_testset_wav" / "p232_002.wav").write_bytes(b"no audio")
    first, second = copies.voicebank(tmp_path)
    assert first.noisy.parent.name == "noisy_testset_wav" and not (tmp_path / "16kHz").exists()
    assert second.clean is None and second.noisy.name == "p232_002.wav"
    with pytest.raises(QseError, match="has no folder noisy_trainset_28spk_wav"):
        copies.voicebank(tmp_path, "train")


def test_dns3_finds_its_folder(tmp_path):
    root = tmp_path / "datasets"
    for path in (
        "clean/german_speech/a.wav",
        "clean/read_speech/b.wav",
        "noise/n.wav",
        "dev_testset/t_fileid_3.wav",
    ):
        write(root / path, np.zeros(100))
    for path in ("impulse_responses/SLR26/simulated/r.wav", "impulse_responses/SLR28/real/s.wav"):
        write(root / path, np.zeros(100))
    for path in (
        "pointsource_noises/noise-free-sound-0000.wav",
        "real_rirs_isotropic_noises/RVB2014_type1_noise_1.wav",
    ):
        write(root / "impulse_responses/SLR28" / path, np.zeros(100))
    for folder in (root, tmp_path):
        found = datasets.dns3(folder)
        assert [len(found.clean), len(found.noise), len(found.impulse_responses)] == [2, 1, 2]
        assert datasets.dns3_test(folder) == [
            datasets.Pair("fileid_3", root / "dev_testset/t_fileid_3.wav")
        ]


def test_files_of_other_kinds_are_left_out_with_a_warning(tmp_path):
    write(tmp_path / "a.wav", np.zeros(10))
    write(tmp_path / "c/of.wav", np.zeros(10))
    for name in ("b.m4a", "c/d.WMA"):
        (tmp_path / name).write_bytes(b"any")
    with pytest.warns(UserWarning, match=r"2 files are left out \(m4a, wma\), such as .*b\.m4a"):
        found = datasets.audio_files(tmp_path)
    assert [path.name for path in found] == ["a.wav", "of.wav"]

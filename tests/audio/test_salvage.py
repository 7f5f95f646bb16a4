"""Salvage damaged files: everything that can be read, and in words how much is missing."""

import re
import struct

import numpy as np
import pytest
import scipy.signal
import soundfile
from audio_files import make, tone
from tagged_files import needs_ffmpeg

from qse.audio import salvage
from qse.audio.reader import open_audio
from qse.audio.salvage import WithHeader, open_repaired, samples_offset
from qse.errors import QseError


def salvaged(path) -> tuple[np.ndarray, str | None]:
    with open_audio(path, salvage=True) as source:
        audio = np.concatenate(list(source.blocks()))
        return audio, source.damage


def noise(samples: int) -> np.ndarray:
    return (0.1 * np.random.default_rng(0).standard_normal((samples, 1))).astype(np.float32)


@pytest.mark.parametrize(
    "suffix, told", [("wav", True), ("flac", True), ("ogg", False), ("aiff", True), ("mp3", True)]
)
def test_salvage_reads_a_truncated_file(tmp_path, suffix, told):
    path = make(tmp_path / f"a.{suffix}", noise(160_000))
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(QseError, match="salvage=True"), open_audio(path) as source:
        list(source.blocks())
    audio, damage = salvaged(path)
    assert 40_000 < len(audio) < 120_000
    read = re.search(r"([\d.]+) s were read", damage)
    missing = re.search(r"([\d.]+) s are missing", damage)
    assert float(read[1]) == pytest.approx(len(audio) / 16000, abs=0.01)
    assert bool(missing) == told
    if told:
        assert float(read[1]) + float(missing[1]) == pytest.approx(10, abs=0.1)


@needs_ffmpeg
@pytest.mark.parametrize("suffix", ["flac", "mp3"])
def test_salvage_reads_on_behind_damage(tmp_path, suffix):
    path = make(tmp_path / f"a.{suffix}", noise(160_000))
    whole, damage = salvaged(path)
    assert len(whole) == 160_000 and damage is None
    data = path.read_bytes()
    at = len(data) // 3
    path.write_bytes(data[:at] + bytes(4096) + data[at + 4096 :])
    audio, damage = salvaged(path)
    assert 0 < len(whole) - len(audio) < 20_000 and " s are missing" in damage
    later = whole[112_000:144_000, 0]
    likeness = scipy.signal.correlate(audio[:, 0], later, "valid")
    assert likeness.max() == pytest.approx(later @ later, rel=1e-3)


@pytest.mark.parametrize("has_end", [True, False])
def test_salvage_says_what_is_missing_in_the_middle_of_an_ogg(tmp_path, has_end):
    """Its last page holds the length; a file without that page does not say."""
    path = make(tmp_path / "a.ogg", noise(160_000))
    data = bytearray(path.read_bytes())
    page = data.index(b"OggS", len(data) // 4)
    data[page + 200 : page + 300] = bytes(100)
    path.write_bytes(data if has_end else data[: len(data) // 2])
    audio, damage = salvaged(path)
    missing = re.search(r"([\d.]+) s are missing", damage)
    if has_end:
        assert float(missing[1]) == pytest.approx(10 - len(audio) / 16000, abs=0.01)
    assert bool(missing) == has_end and len(audio) > 40_000


@pytest.mark.parametrize("suffix", ["wav", "w64", "aiff", "au", "mp3", "flac"])
def test_salvage_of_a_part_says_that_a_block_is_missing(tmp_path, suffix):
    """Which displaces what is behind it; nothing says where it was."""
    path = make(tmp_path / f"a.{suffix}", tone(16000 * 8))
    data = path.read_bytes()
    at = len(data) // 4
    path.write_bytes(data[:at] + data[at + len(data) // 20 :])
    with open_audio(path, salvage=True) as source:
        read = sum(map(len, source.blocks(16000 * 5)))
    assert read >= 16000 * 5 and source.damage


def test_salvage_closes_an_unfinished_wav(tmp_path):
    """Windows does not replace a file that is open."""
    path = make(tmp_path / "a.wav", noise(16000))
    data = bytearray(path.read_bytes())
    data[40:44] = bytes(4)
    path.write_bytes(data)
    file = open_repaired(path)
    repaired = file.name
    assert isinstance(repaired, WithHeader) and len(file.read()) == 16000
    file.close()
    assert repaired.closed


@pytest.mark.parametrize("riff", [0, 36, None])
def test_salvage_reads_a_wav_with_data_size_zero(tmp_path, riff):
    path = make(tmp_path / "a.wav", tone(48000))
    expected = soundfile.read(path, dtype="float32", always_2d=True)[0]
    data = bytearray(path.read_bytes())
    data[40:44] = bytes(4)
    if riff is not None:
        data[4:8] = struct.pack("<I", riff)
    path.write_bytes(data)
    with pytest.raises(QseError, match=r"header is unfinished.*salvage=True"):
        open_audio(path)
    audio, damage = salvaged(path)
    np.testing.assert_array_equal(audio, expected)
    assert "3.00 s were read" in damage and path.read_bytes() == data


@pytest.mark.parametrize("most", [1000, 1 << 40])
def test_salvage_reads_a_wav_that_sizes_of_32_bits_do_not_reach(tmp_path, monkeypatch, most):
    """As recorders leave it whose count has begun at zero again at 4 GiB."""
    monkeypatch.setattr(salvage, "MOST", most)
    path = make(tmp_path / "a.wav", tone(48000))
    expected = soundfile.read(path, dtype="float32", always_2d=True)[0]
    data = bytearray(path.read_bytes())
    data[40:44] = bytes(4)
    path.write_bytes(data)
    np.testing.assert_array_equal(salvaged(path)[0], expected)


def test_salvage_reports_no_damage_in_a_good_file(tmp_path):
    audio, damage = salvaged(make(tmp_path / "a.flac", tone(48000)))
    assert len(audio) == 48000 and damage is None


@pytest.mark.parametrize("content", [b"", b"words " * 100, b"RIFF\0\0\0\0WAVEfmt "])
def test_salvage_refuses_what_is_no_audio(tmp_path, content):
    (tmp_path / "a.wav").write_bytes(content)
    with pytest.raises(QseError, match=r"a\.wav"):
        open_audio(tmp_path / "a.wav", salvage=True)


def test_a_file_with_another_header_reads_like_the_file_behind_it(tmp_path):
    path = make(tmp_path / "a.wav", tone(100))
    data = path.read_bytes()
    with WithHeader(path, data[:44], samples_offset(path)) as file:
        assert file.read() == data
        assert file.seek(44) == 44 and file.read(4) == data[44:48] and file.tell() == 48
    with pytest.raises(ValueError, match="closed file"):
        file.tell()

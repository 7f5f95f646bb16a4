"""Detect files that lost their end, and files that libsndfile reads only in part."""

import os
import struct
from pathlib import Path

import numpy as np
import pytest
import soundfile
from audio_files import KINDS, make, ogg_checksum, read, tone
from tagged_files import ffmpeg, needs_ffmpeg

from qse.audio.bit_rate import BitRate, settings
from qse.audio.reader import AudioFile, open_audio
from qse.errors import QseError


@pytest.mark.parametrize(
    "suffix, subtype", [kind for kind in KINDS if kind[0] != "caf" or os.name == "posix"]
)
def test_is_cut_refuses_a_truncated_file(tmp_path, suffix, subtype):
    path = make(tmp_path / f"a.{suffix}", tone(48000), subtype)
    assert read(path) == 48000
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 2 // 3])
    with pytest.raises(QseError, match=rf"a.{suffix} is .*(cut short|its beginning is damaged)"):
        read(path)


def last_page(path: Path, offset: int, value: bytes) -> None:
    """Change bytes of the last page of an Ogg file, and its checksum with them."""
    data = bytearray(path.read_bytes())
    page = data.rindex(b"OggS")
    data[page + offset : page + offset + len(value)] = value
    data[page + 22 : page + 26] = bytes(4)
    data[page + 22 : page + 26] = struct.pack("<I", ogg_checksum(data[page:]))
    path.write_bytes(data)


def test_is_cut_accepts_an_ogg_without_end_mark(tmp_path):
    path = make(tmp_path / "a.ogg", tone(48000), "VORBIS")
    last_page(path, 5, b"\0")
    assert read(path) == 48000


def test_positions_of_an_ogg_that_go_back_are_damage(tmp_path):
    """Decoders take the last one for the end of the sound."""
    noise = 0.1 * np.random.default_rng(0).standard_normal((96000, 1))
    path = make(tmp_path / "a.ogg", noise.astype(np.float32), "VORBIS")
    last_page(path, 6, struct.pack("<q", 100))
    assert soundfile.info(path).frames < 90000
    with pytest.raises(QseError, match="positions go back"):
        read(path)


def test_last_page_of_an_ogg_without_a_position_is_damage(tmp_path):
    """RFC 3533, section 6: -1 says that no packet ends there; decoders leave out what does."""
    noise = 0.1 * np.random.default_rng(0).standard_normal((96000, 1))
    path = make(tmp_path / "a.ogg", noise.astype(np.float32), "VORBIS")
    last_page(path, 6, struct.pack("<q", -1))
    with pytest.raises(QseError, match="a position is missing"):
        read(path)


def test_has_more_refuses_joined_files_of_one_number_without_the_mark_of_an_end(tmp_path):
    """As a recorder leaves them that is killed, and appends with the same number."""
    one = make(tmp_path / "a.ogg", tone(48000), "VORBIS")
    last_page(one, 5, b"\0")
    one.write_bytes(2 * one.read_bytes())
    assert soundfile.info(one).frames < 50000
    with pytest.raises(QseError, match="holds more than libsndfile reads"):
        AudioFile(one)


@pytest.mark.parametrize("suffix", ["mp3", "ogg"])
def test_has_more_refuses_joined_files(tmp_path, suffix):
    one = make(tmp_path / f"one.{suffix}", tone(48000))
    joined = tmp_path / f"joined.{suffix}"
    joined.write_bytes(2 * one.read_bytes())
    assert soundfile.info(joined).frames < 50000
    with pytest.raises(QseError, match=rf"joined.{suffix} holds more than libsndfile reads"):
        AudioFile(joined)


@needs_ffmpeg
def test_joined_mp4_files_are_refused(tmp_path):
    ffmpeg("-i", make(tmp_path / "one.wav", tone(4000)), tmp_path / "one.m4a")
    joined = tmp_path / "joined.m4a"
    joined.write_bytes(2 * (tmp_path / "one.m4a").read_bytes())
    audio = open_audio(joined)
    with audio, pytest.raises(QseError, match="another file begins behind the first"):
        list(audio.blocks())


def test_has_more_checks_an_mp3_without_length(tmp_path):
    audio = np.concatenate([tone(48000), np.zeros((96000, 1), np.float32)])
    for mode in ("CONSTANT", "VARIABLE"):
        path = tmp_path / f"{mode}.mp3"
        soundfile.write(path, audio, 16000, bitrate_mode=mode, compression_level=0.5)
        data = path.read_bytes()
        second = data.index(data[:2], 4)  # the first frame holds nothing but the length
        path.write_bytes(data[second:])
    assert read(tmp_path / "CONSTANT.mp3") == pytest.approx(144000, abs=3000)
    with pytest.raises(QseError, match=r"VARIABLE.mp3 holds more than libsndfile reads"):
        read(tmp_path / "VARIABLE.mp3")


def test_has_more_ignores_tags_after_an_mp3(tmp_path):
    path = make(tmp_path / "a.mp3", tone(16000))
    data = path.read_bytes()
    frame = data[: data.index(data[:2], 4)]
    for inside in (frame[:4] + bytes(50), bytes(500)):
        path.write_bytes(data + b"APETAGEX" + 40 * (inside + bytes(len(frame))))
        assert read(path) == soundfile.info(path).frames


@pytest.mark.parametrize(
    "rate", [22050, 44100]
)  # at which frames are of two sizes, so that guesses from one are wrong
def test_says_length_ignores_estimates_for_mp3(tmp_path, rate):
    path = tmp_path / "a.mp3"
    noise = np.random.default_rng(0).standard_normal(4 * rate) / 4
    with soundfile.SoundFile(
        path, "w", rate, 1, bitrate_mode="CONSTANT", compression_level=0.6
    ) as file:
        file.write(noise)
    data = path.read_bytes()
    info = data.index(b"Info")
    path.write_bytes(data[data.index(data[:2], info) :])
    held = len(soundfile.read(path)[0])
    assert held < soundfile.info(path).frames
    assert read(path) == held == pytest.approx(4 * rate, abs=3000)


def test_has_more_refuses_an_unfinished_wav(tmp_path):
    path = make(tmp_path / "a.wav", tone(48000))
    data = bytearray(path.read_bytes())
    for samples in (0, 1000):
        data[4:8] = struct.pack("<I", 36 + 2 * samples)
        data[40:44] = struct.pack("<I", 2 * samples)
        path.write_bytes(data)
        with pytest.raises(
            QseError, match=r"holds more than libsndfile reads .*unfinished.*salvage=True"
        ):
            AudioFile(path)
    data[4:8] = struct.pack("<I", 0)
    data[40:44] = struct.pack("<I", 2 * 48000)  # as some programs leave it
    path.write_bytes(data)
    assert read(path) == 48000


def test_has_more_refuses_a_wav_above_4_gib(tmp_path):
    path = make(tmp_path / "a.wav", tone(16000))
    with path.open("r+b") as file:
        file.truncate((1 << 32) + path.stat().st_size)  # takes no room on disk
    with pytest.raises(QseError, match="holds more than libsndfile reads"):
        AudioFile(path)


@pytest.mark.parametrize("announced", [0x7FFFFFDB, 0x80000000, 0xFFFFFFFF])
@pytest.mark.parametrize("channels", [1, 2])
def test_has_more_refuses_a_long_wav_from_a_pipe(tmp_path, announced, channels):
    path = make(tmp_path / "a.wav", tone(1000, channels))
    data = bytearray(path.read_bytes())
    for at in (4, data.index(b"data") + 4):
        data[at : at + 4] = announced.to_bytes(4, "little")
    path.write_bytes(data)
    assert read(path) == 1000
    with path.open("r+b") as file:
        file.truncate(announced + (1 << 20))  # takes no room on disk
    with pytest.raises(QseError, match="holds more than libsndfile reads"):
        AudioFile(path)


def test_has_more_accepts_tags_after_a_long_wav(tmp_path):
    path = make(tmp_path / "a.wav", tone(1000))
    data = bytearray(path.read_bytes())
    size = (1 << 31) - 500
    for at, count in ((4, size + 36 + 5008), (data.index(b"data") + 4, size)):
        data[at : at + 4] = count.to_bytes(4, "little")
    path.write_bytes(data)
    with path.open("r+b") as file:
        file.truncate(44 + size)
        file.seek(44 + size)
        file.write(b"LIST" + (5000).to_bytes(4, "little") + bytes(5000))
    with AudioFile(path) as source:
        assert source.samples == size // 2


@pytest.mark.parametrize(
    ("form", "places", "length", "order", "stated"),
    [
        ("wav", {b"RIFF": 4, b"data": 4}, 4, "little", 3_000_000_000),
        ("aiff", {b"FORM": 4, b"SSND": 4}, 4, "big", 3_000_000_000),
        ("rf64", {b"RF64": 20, b"ds64": 16}, 8, "little", 1 << 33),
        ("w64", {b"riff": 16, b"data": 16}, 8, "little", 1 << 33),
    ],
)
def test_sizes_above_two_gigabytes_tell_of_a_cut(tmp_path, form, places, length, order, stated):
    """Only sizes that programs write into pipes stand for an end that is not known."""
    path = make(tmp_path / f"a.{form}", tone(1000))
    data = bytearray(path.read_bytes())
    for name, behind in places.items():
        at = data.index(name) + behind
        data[at : at + length] = stated.to_bytes(length, order)
    path.write_bytes(data)
    with pytest.raises(QseError, match="is cut short"):
        AudioFile(path)


def test_has_more_accepts_a_wav_from_a_pipe(tmp_path):
    path = make(tmp_path / "a.wav", tone(1000))
    data = bytearray(path.read_bytes())
    for at in (4, data.index(b"data") + 4):
        data[at : at + 4] = b"\xff\xff\xff\xff"
    path.write_bytes(data)
    assert read(path) == 1000


def test_is_cut_accepts_a_header_that_counts_itself(tmp_path):
    path = make(tmp_path / "a.wav", tone(1000))
    data = bytearray(path.read_bytes())
    at = data.index(b"data") + 4
    data[at : at + 4] = (2000 + 36).to_bytes(4, "little")
    path.write_bytes(data)
    assert read(path) == 1000


@pytest.mark.parametrize(
    ("rate", "kbit"), [(16000, 16), (16000, 24), (22050, 32), (44100, 32), (48000, 48)]
)
def test_mp3_of_a_low_constant_rate_has_its_length_and_no_delay(tmp_path, rate, kbit):
    """Frames so small hold no Info, by which a decoder removes what the encoder has added."""
    sound = np.zeros(30_000, np.float32)
    sound[10_000:10_200] = np.hanning(200)
    form = settings("MPEG_LAYER_III", rate, 1, BitRate(kbit, is_constant=True))
    soundfile.write(tmp_path / "a.mp3", sound, rate, **form)
    written, _ = soundfile.read(tmp_path / "a.mp3")
    assert len(written) == len(sound)
    assert abs(int(np.abs(written).argmax()) - 10_100) < 60


@needs_ffmpeg
@pytest.mark.parametrize("suffix", ["ts", "mpg", "mkv", "mp4"])
@pytest.mark.parametrize("late", [0.5, 2])
def test_sound_that_begins_later_than_the_picture(tmp_path, suffix, late):
    """Silence stands before it, also where ffmpeg counts from the begin of the track. Much of it is
    said where the time of the first picture may be damaged."""
    sound = make(tmp_path / "a.wav", tone(48_000), sample_rate=48_000)
    picture = ("-f", "lavfi", "-i", "testsrc=duration=3:size=64x64:rate=25")
    coding = ("-t", "3", "-c:v", "mpeg2video", "-c:a", "mp2")
    ffmpeg(*picture, "-itsoffset", late, "-i", sound, *coding, tmp_path / f"a.{suffix}")
    with open_audio(tmp_path / f"a.{suffix}") as file:
        samples = np.concatenate(list(file.blocks()))[:, 0]
        said = file.damage or ""
    assert ("s after the picture" in said) is (late > 1 and suffix in ("ts", "mpg"))
    begin = np.argmax(np.abs(samples) > 0.01) / 48_000
    assert begin == pytest.approx(late, abs=0.1)
    assert len(samples) / 48_000 == pytest.approx(min(3, late + 1), abs=0.1)

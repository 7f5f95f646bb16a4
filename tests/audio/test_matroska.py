"""Damaged Matroska files: ffmpeg skips blocks without a word, so the elements are checked."""

import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from audio_files import make, outcome, tone
from tagged_files import ffmpeg

from qse.audio import time_stamps
from qse.audio.ebml import damaged_places
from qse.audio.reader import open_audio
from qse.errors import QseError

pytestmark = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="needs ffmpeg")
CODINGS = {"flac": "mka", "libvorbis": "mka", "pcm_s16le": "mka", "libopus": "webm"}
SIMPLE_BLOCK = 0xA3
SAMPLES = 64_000


def encoded(folder: Path, coding: str, *options: str) -> Path:
    wav = make(folder / "a.wav", tone(SAMPLES, 1), "PCM_16")
    path = folder / f"a.{CODINGS[coding]}"
    ffmpeg("-i", wav, "-c:a", coding, *options, path)
    return path


def blocks_of(data: bytes) -> list[int]:
    """Return where simple blocks of track 1 begin, by their bytes alone: number, a size of one or
    two bytes, track."""
    found = []
    for at in range(len(data) - 4):
        if data[at] == SIMPLE_BLOCK:
            size = 1 if data[at + 1] & 0x80 else 2
            if data[at + 1] & 0xC0 and data[at + 1 + size] == 0x81 and data[at + size + 4] == 0x80:
                found.append(at)
    return found


def read(path: Path, salvage: bool = False) -> tuple[int, str | None]:
    with open_audio(path, salvage=salvage) as source:
        count = sum(map(len, source.blocks()))
        return count, source.damage


@pytest.mark.parametrize("checksums", ["0", "1"])
@pytest.mark.parametrize("coding", CODINGS)
def test_a_flipped_bit_that_hides_a_block_is_named(tmp_path, coding, checksums):
    """ffmpeg takes the block for an element that it does not know, and reads on behind it."""
    path = encoded(tmp_path, coding, "-write_crc32", checksums)
    whole, damage = read(path)
    assert damage is None and damaged_places(path) == []
    data = bytearray(path.read_bytes())
    blocks = blocks_of(data)
    if not blocks:
        pytest.skip("ffmpeg 9 writes none of Vorbis")
    data[blocks[len(blocks) // 2]] ^= 0x40
    path.write_bytes(data)
    with pytest.raises(QseError, match=r"is damaged: .*bytes are no element at [12]\.\d\d s"):
        read(path)
    got, damage = read(path, salvage=True)
    assert got <= whole and "s were read" in damage and "bytes are no element" in damage


def test_a_flipped_bit_anywhere_in_a_cluster_is_found_by_its_checksum(tmp_path):
    path = encoded(tmp_path, "pcm_s16le")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1  # a sample
    path.write_bytes(data)
    with pytest.raises(QseError, match=r"is damaged: a checksum differs at \d\.\d\d s"):
        read(path)


def test_a_block_of_no_track_is_named(tmp_path):
    path = encoded(tmp_path, "flac", "-write_crc32", "0")
    data = bytearray(path.read_bytes())
    at = blocks_of(data)[2]
    data[at + (2 if data[at + 1] & 0x80 else 3)] = 0x85
    path.write_bytes(data)
    with pytest.raises(QseError, match="a block belongs to no track"):
        read(path)


def test_files_joined_to_one_are_named(tmp_path):
    path = encoded(tmp_path, "flac")
    path.write_bytes(2 * path.read_bytes())
    with pytest.raises(QseError, match=r"another file begins at 3\.9"):
        read(path)


@pytest.mark.parametrize("options", [(), ("-live", "1"), ("-cluster_time_limit", "500")])
def test_intact_files_have_no_damage(tmp_path, options):
    """Also those of a stream, in which the sizes of clusters are not stated."""
    wav = make(tmp_path / "a.wav", tone(SAMPLES, 2), "PCM_16")
    picture = ("-f", "lavfi", "-i", "testsrc=duration=4:size=64x48:rate=10")
    path = tmp_path / "a.mkv"
    ffmpeg(*picture, "-i", wav, "-c:a", "flac", "-f", "matroska", *options, path)
    assert damaged_places(path) == []
    assert read(path) == (SAMPLES, None)


@pytest.mark.parametrize(("size", "most"), [(10_000, 1), (20_000, 2)])
def test_noise_is_one_damaged_place(tmp_path, size, most):
    path = tmp_path / "a.mka"
    head = bytes.fromhex("1a45dfa3801853806701ffffffffffffff")
    path.write_bytes(head + np.random.default_rng(0).bytes(size))
    assert 1 <= len(damaged_places(path)) <= most


def test_silence_in_a_gap_of_the_time_stamps_is_said(tmp_path):
    wav = make(tmp_path / "a.wav", tone(SAMPLES, 1), "PCM_16")
    path = tmp_path / "a.mka"
    ffmpeg("-i", wav, "-af", "aselect='not(between(t,1,2))'", "-c:a", "flac", path)
    count, damage = read(path)
    assert abs(count - SAMPLES) < 5000
    assert "may be damaged: where its time stamps jump, " in damage
    assert damage.endswith("s of silence were put in")
    stated = float(damage.split("jump, ")[1].split()[0])
    assert abs(stated - 1) < 0.3


@pytest.mark.parametrize("salvage", [False, True])
def test_a_gap_of_hours_is_refused(tmp_path, monkeypatch, salvage):
    """A file of some bytes would fill the disk with silence."""
    monkeypatch.setattr(time_stamps, "MOST_FILLED", 60)
    wav = make(tmp_path / "a.wav", tone(SAMPLES, 1), "PCM_16")
    path = tmp_path / "a.mka"
    ffmpeg("-i", wav, "-af", "asetpts='PTS+if(gt(T,1),200/TB,0)'", "-c:a", "flac", path)
    with pytest.raises(QseError, match=r"a\.mka is not read: its time stamps jump over"):
        read(path, salvage)


def test_packets_that_state_more_frames_than_they_hold_are_no_silence(tmp_path):
    """Of 5 kB, ffmpeg made 164 million samples: it places each packet behind the last one."""
    path = make(tmp_path / "a.caf", tone(SAMPLES, 1), "PCM_16")
    data = bytearray(path.read_bytes())
    data[42:44] = b"\xff\xff"  # frames per packet
    path.write_bytes(data[:-1000])
    got, damage = read(path, salvage=True)
    assert got < SAMPLES and "is damaged" in damage


def test_silence_in_front_of_a_late_track_is_no_damage(tmp_path):
    wav = make(tmp_path / "a.wav", tone(SAMPLES, 1), "PCM_16")
    path = tmp_path / "a.mkv"
    picture = ("-f", "lavfi", "-i", "testsrc=duration=6:size=64x48:rate=10")
    ffmpeg(*picture, "-itsoffset", 2, "-i", wav, "-c:a", "flac", path)
    count, damage = read(path)
    assert damage is None and abs(count - SAMPLES - 32_000) < 100


def test_a_picture_before_the_beginning(tmp_path):
    """ffmpeg would put in silence, as long as the sound is later."""
    wav = make(tmp_path / "a.wav", tone(SAMPLES, 1), "PCM_16")
    path = tmp_path / "a.mkv"
    picture = ("-f", "lavfi", "-i", "testsrc=duration=4:size=64x48:rate=10")
    ffmpeg(*picture, "-i", wav, "-c:a", "flac", "-write_crc32", "0", path)
    data = bytearray(path.read_bytes())
    at = next(at for at in blocks_of(data) if data[at + 1] & 0x40 or data[at + 1] & 0x80)
    data[at + (3 if data[at + 1] & 0x80 else 4)] ^= 0x80  # of the time, behind size and track
    path.write_bytes(data)
    with pytest.raises(QseError, match="a block lies before the beginning"):
        read(path)


@pytest.mark.parametrize("suffix", ["mp3", "aac"])
def test_salvage_reads_each_second_once_where_the_rate_changes(tmp_path, suffix):
    """ffmpeg fills the time before the change with silence again, and keeps the first rate."""
    paths = []
    for rate, channels in ((44100, 2), (16000, 1)):
        wav = make(tmp_path / f"{rate}.wav", tone(3 * rate, channels), "PCM_16", rate)
        paths.append(tmp_path / f"{rate}.{suffix}")
        ffmpeg("-i", wav, paths[-1])
    path = tmp_path / f"joined.{suffix}"
    path.write_bytes(paths[0].read_bytes() + paths[1].read_bytes())
    with open_audio(path, salvage=True) as source:
        sound = np.concatenate(list(source.blocks()))[:, 0]
        assert "sample rate or channels change at 3.0" in source.damage
    seconds = sound[: len(sound) // 4410 * 4410].reshape(-1, 4410)
    assert 60 <= len(seconds) <= 63
    assert np.sum(np.abs(seconds).max(1) < 0.01) <= 2  # no silence, but for the codecs' ends


def with_pictures(folder: Path, *options: str) -> Path:
    """Write 4 s of pictures, and of FLAC in blocks of 4,096 samples."""
    sound = make(folder / "a.flac", tone(SAMPLES, 1), "PCM_16")
    picture = ("-f", "lavfi", "-i", "testsrc=duration=4:size=64x48:rate=10")
    path = folder / "a.mkv"
    ffmpeg(*picture, "-i", sound, "-c:a", "copy", "-write_crc32", "0", *options, path)
    return path


@pytest.mark.parametrize("number", [0xA7, 0xAB, 0xAF])
def test_a_last_block_that_became_another_element_is_named(tmp_path, number):
    """ffmpeg takes it for the place or size of a cluster, or for an encrypted block."""
    path = with_pictures(tmp_path)
    assert read(path) == (SAMPLES, None)
    data = bytearray(path.read_bytes())
    last = max(at for at in range(len(data)) if data[at] == SIMPLE_BLOCK and is_sound(data, at))
    data[last] = number
    path.write_bytes(data)
    with pytest.raises(QseError, match=r"is damaged: .* at \d\.\d\d s"):
        read(path)


def is_sound(data: bytearray, at: int) -> bool:
    """Return whether a simple block of track 2 with a size of two bytes begins here."""
    return data[at + 1] & 0xC0 == 0x40 and data[at + 3] == 0x82 and data[at + 6] & 0x7F == 0


def test_a_group_without_a_block_is_named(tmp_path):
    head = bytes.fromhex("1a45dfa38018538067ff")  # a segment and a cluster without a stated end
    group = bytes.fromhex("a0839b8105")  # which holds a duration alone
    path = tmp_path / "a.mkv"
    path.write_bytes(head + bytes.fromhex("1f43b675ff e78100") + group)
    assert damaged_places(path) == ["a group holds no block at 0.00 s"]


def test_a_track_that_is_shorter_than_its_tag_says(tmp_path):
    """Beside pictures the header states the length of both; the blocks of sound end earlier."""
    path = with_pictures(tmp_path)
    data = path.read_bytes()
    assert data.count(b"00:00:04.000000000") == 2
    for stated, said in ((4, None), (5, "its header states 1.00 s more than there are")):
        text = b"00:00:0%d.000000000" % stated
        path.write_bytes(data.replace(b"00:00:04.000000000", text))
        count, damage = read(path)
        assert count == SAMPLES and (damage is None if said is None else said in damage)


@pytest.mark.parametrize("rate", [48000, 96000, 192000])
def test_silence_is_counted_at_every_rate(tmp_path, rate):
    """ffmpeg puts it in by pieces of 16,384 samples, which last 0.085 s at 192 kHz."""
    wav = make(tmp_path / "a.wav", tone(4 * rate, 1), "PCM_16", rate)
    path = tmp_path / "a.mka"
    ffmpeg("-i", wav, "-af", "aselect='not(between(t,1,2))'", "-c:a", "flac", path)
    damage = read(path)[1]
    stated = float(damage.split("jump, ")[1].split()[0])
    assert abs(stated - 1) < 0.1


def test_a_track_that_is_damaged(tmp_path):
    """ffmpeg leaves it out, or reads another one in its place."""
    wav = make(tmp_path / "a.wav", tone(SAMPLES, 1), "PCM_16")
    path = tmp_path / "a.mka"
    maps = ("-map", "0:a", "-map", "1:a", "-write_crc32", "0")
    ffmpeg("-i", wav, "-i", wav, *maps, "-c:a", "flac", path)
    whole = path.read_bytes()
    at = whole.rindex(b"\x86\x86A_FLAC")
    kind = whole.rindex(b"\x83\x81\x02")
    for place in (at, at + 1, at + 2, kind, kind + 1, kind + 2):
        for bit in range(8):
            data = bytearray(whole)
            data[place] ^= 1 << bit
            path.write_bytes(data)
            with pytest.raises(QseError, match=r"a track is damaged|damaged: bytes are"):
                read(path)


def test_sound_before_the_begin(tmp_path):
    """By the delay of an encoder, as of AAC at low rates."""
    path = tmp_path / "a.mka"
    line = ("-itsoffset", "-0.3", "-f", "lavfi", "-i", "anoisesrc=d=4:r=16000")
    ffmpeg(*line, "-c:a", "aac", "-copyts", "-avoid_negative_ts", "disabled", path)
    for stop in (16000, math.inf):
        assert "0.36 s before its begin may be heard" in outcome(path, stop=stop)[1]

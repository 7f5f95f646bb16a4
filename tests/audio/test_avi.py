"""AVI files with pictures: a chunk whose size is damaged would be read past the next ones."""

import struct

import pytest
from audio_files import make, outcome, tone
from tagged_files import ffmpeg, needs_ffmpeg

from qse.audio.avi import Chunks, damaged_places
from qse.audio.file_bytes import FileBytes

pytestmark = needs_ffmpeg
SAMPLES = 32_000
PICTURES = ("-f", "lavfi", "-i", "testsrc=duration=2:size=64x48:rate=10")


@pytest.fixture(params=["pcm_s16le", "ac3", "libmp3lame"])
def path(tmp_path, request):
    sound = make(tmp_path / "a.wav", tone(SAMPLES, 1), "PCM_16")
    ffmpeg(*PICTURES, "-i", sound, "-c:v", "mpeg4", "-c:a", request.param, tmp_path / "a.avi")
    return tmp_path / "a.avi"


def sound_chunks(data: bytes) -> list[int]:
    """Return where the chunks of the second track begin, by the index of the file."""
    at = data.rindex(b"idx1")
    size = int.from_bytes(data[at + 4 : at + 8], "little")
    begin = data.index(b"movi")
    entries = struct.iter_unpack("<4sIII", data[at + 8 : at + 8 + size])
    return [begin + place for name, _, place, _ in entries if name == b"01wb"]


def test_intact_file(path):
    assert damaged_places(path) == []
    samples, said = outcome(path)
    assert samples >= SAMPLES and not said


@pytest.mark.parametrize("bit", [1, 3, 10, 14])
def test_size_of_a_chunk(path, bit):
    data = bytearray(path.read_bytes())
    at = sound_chunks(data)[2]
    data[at + 4 + bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)
    samples, said = outcome(path)
    assert not samples and "a chunk is damaged at byte" in said


def test_identifier_of_a_chunk(path):
    """ffmpeg leaves out a chunk of a track that is not there."""
    data = bytearray(path.read_bytes())
    data[sound_chunks(data)[2] + 1] = ord("5")
    path.write_bytes(data)
    assert "belongs to no stream of sound" in outcome(path)[1]
    data[sound_chunks(data)[2] + 2] = ord("d")
    path.write_bytes(data)
    assert "states other chunks of sound" in outcome(path)[1]


def test_a_stream_whose_header_is_damaged(tmp_path):
    """ffmpeg leaves it out."""
    sound = make(tmp_path / "a.wav", tone(SAMPLES, 1), "PCM_16")
    maps = ("-map", "0:a", "-map", "1:a", "-c:a", "pcm_s16le")
    ffmpeg("-i", sound, "-i", sound, *maps, tmp_path / "a.avi")
    whole = (tmp_path / "a.avi").read_bytes()
    assert outcome(tmp_path / "a.avi")[1] == ""
    for name in (b"auds", b"strf", b"strh", b"strl"):
        data = bytearray(whole)
        data[data.rindex(name)] ^= 64
        (tmp_path / "a.avi").write_bytes(data)
        assert "belongs to no stream of sound" in outcome(tmp_path / "a.avi")[1], name


def test_parts_of_long_files_and_lists_of_records_are_followed(tmp_path):
    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack("<4sI", name, len(body)) + body + bytes(len(body) % 2)

    record = chunk(b"LIST", b"rec " + chunk(b"00dc", bytes(3)) + chunk(b"01wb", bytes(8)))
    streams = b"hdrl"
    for kind in (b"vids", b"auds"):
        stream = chunk(b"strh", kind + bytes(4)) + chunk(b"strf", bytes(8))
        streams += chunk(b"LIST", b"strl" + stream)
    movie = b"movi" + record + chunk(b"ix01", bytes(24))
    head = chunk(b"RIFF", b"AVI " + chunk(b"LIST", streams) + chunk(b"LIST", movie))
    for name, places in (
        (b"01wb", []),
        (b"\1\2wb", [f"a chunk is damaged at byte {len(head) + 24}"]),
    ):
        rest = chunk(b"RIFF", b"AVIX" + chunk(b"LIST", b"movi" + chunk(name, bytes(8))))
        path = tmp_path / "a.avi"
        path.write_bytes(head + rest)
        assert damaged_places(path) == places


def test_zeros_in_place_of_chunks_are_passed_at_once(tmp_path):
    path = tmp_path / "a.avi"
    with path.open("wb") as file:
        file.write(struct.pack("<4sI4s", b"RIFF", (1 << 32) - 2, b"AVI "))
        file.truncate(1 << 33)
    with path.open("rb") as file:
        chunks = Chunks(FileBytes(file))
        chunks.follow()
        assert chunks.places == [] and chunks._count < 10


@pytest.mark.parametrize("name", [b"RIFX", b"\0IFF", b"RIFF"])
def test_name_of_a_further_part(path, name):
    """As files above 1 GiB have."""
    part = (
        name + struct.pack("<I", 20_004) + b"AVIX" + b"LIST" + struct.pack("<I", 19_992) + b"movi"
    )
    rest = b"01wb" + struct.pack("<I", 19_980) + b"\1" * 19_980
    path.write_bytes(path.read_bytes() + part + rest)
    said = damaged_places(path)
    assert bool(said) == (name != b"RIFF") and all("behind its last part" in text for text in said)


def test_size_of_an_unfinished_recording(path):
    data = bytearray(path.read_bytes())
    data[4:8] = bytes(4)
    path.write_bytes(data)
    assert damaged_places(path) == []

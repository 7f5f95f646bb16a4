"""MP4 files whose tables name other places than those of the sound."""

import numpy as np
import pytest
from audio_files import make, outcome
from tagged_files import ffmpeg, needs_ffmpeg

from qse.audio.mp4_fragments import Fragments
from qse.audio.reader import open_audio
from qse.errors import QseError

PICTURE = ("-f", "lavfi", "-i", "testsrc=size=64x64:duration=4:rate=10")
FORMS = {
    "pcm.mov": ("-c:a", "pcm_s16le"),
    "picture.mov": (*PICTURE, "-c:v", "mpeg4", "-c:a", "pcm_s16le"),
    "picture.mp4": (*PICTURE, "-c:v", "mpeg4", "-c:a", "aac"),
    "front.m4a": ("-c:a", "alac", "-movflags", "+faststart"),
    "fragments.mp4": ("-c:a", "aac", "-movflags", "frag_keyframe+empty_moov"),
}


@pytest.fixture
def sound(here):
    noise = 0.2 * np.random.default_rng(0).standard_normal((16000 * 4, 1))
    return make(here / "s.wav", noise)


def read(path):
    with open_audio(path) as file:
        sum(map(len, file.blocks()))
        return file.damage


@needs_ffmpeg
@pytest.mark.parametrize("name", FORMS)
def test_intact_files_are_read(here, sound, name):
    ffmpeg("-i", sound, *FORMS[name], name)
    assert read(here / name) is None


@needs_ffmpeg
@pytest.mark.parametrize("name", ["pcm.mov", "picture.mov", "front.m4a"])
@pytest.mark.parametrize("bit", [0, 3, 9])
def test_a_changed_offset_is_damage(here, sound, name, bit):
    """Of the last chunk of the first track with sound alone, or of the last track."""
    ffmpeg("-i", sound, *FORMS[name], name)
    data = bytearray((here / name).read_bytes())
    at = data.rindex(b"stco")
    last = at + 8 + 4 * int.from_bytes(data[at + 8 : at + 12], "big")
    offset = int.from_bytes(data[last : last + 4], "big") ^ 1 << bit
    data[last : last + 4] = offset.to_bytes(4, "big")
    (here / name).write_bytes(data)
    with pytest.raises(QseError, match="damaged"):
        read(here / name)


@needs_ffmpeg
@pytest.mark.parametrize("bit", [1, 5, 8, 10])
@pytest.mark.parametrize("field", [4, 8, 12])
def test_a_changed_number_of_samples_is_damage(here, sound, field, bit):
    """The number of entries, the first chunk, and the samples of a chunk, in the table stsc."""
    ffmpeg("-i", sound, *FORMS["pcm.mov"], "a.mov")
    data = bytearray((here / "a.mov").read_bytes())
    at = data.rindex(b"stsc") + 4 + field
    data[at : at + 4] = (int.from_bytes(data[at : at + 4], "big") ^ 1 << bit).to_bytes(4, "big")
    (here / "a.mov").write_bytes(data)
    with pytest.raises(QseError):
        read(here / "a.mov")


@needs_ffmpeg
def test_a_cut_file_is_called_so(here, sound):
    ffmpeg("-i", sound, *FORMS["front.m4a"], "a.m4a")
    data = (here / "a.m4a").read_bytes()
    (here / "a.m4a").write_bytes(data[: 2 * len(data) // 3])
    with pytest.raises(QseError) as error:
        read(here / "a.m4a")
    assert "one over another" not in str(error.value)


@needs_ffmpeg
def test_an_offset_into_reserved_room_is_damage(here, sound):
    """ffmpeg reads the zeros there as sound."""
    ffmpeg("-i", sound, *FORMS["pcm.mov"], "-moov_size", 100_000, "a.mov")
    assert outcome(here / "a.mov") == (64_000, "")
    data = bytearray((here / "a.mov").read_bytes())
    at = data.index(b"stco") + 12
    assert data.index(b"free") + 60_000 < data.index(b"mdat")
    data[at : at + 4] = (data.index(b"free") + 1000).to_bytes(4, "big")
    (here / "a.mov").write_bytes(data)
    assert "among other data" in outcome(here / "a.mov")[1]


FRAGMENTS = {
    "pcm.mov": ("-c:a", "pcm_s16le"),
    "alac.m4a": ("-c:a", "alac"),
    "aac.m4a": ("-c:a", "aac"),
    "picture.mov": (*PICTURE, "-c:v", "mpeg4", "-c:a", "pcm_s16le"),
    "picture.mp4": (*PICTURE, "-c:v", "mpeg4", "-c:a", "aac"),
}
FLAGS = ["frag_keyframe+empty_moov", "frag_keyframe+empty_moov+default_base_moof", "dash"]


@needs_ffmpeg
@pytest.mark.parametrize("flags", [*FLAGS, "frag_keyframe+separate_moof"])
@pytest.mark.parametrize("name", FRAGMENTS)
def test_intact_fragments_are_read(here, sound, name, flags):
    ffmpeg("-i", sound, *FRAGMENTS[name], "-movflags", flags, "-frag_duration", 500_000, name)
    samples, said = outcome(here / name)
    assert samples >= 64_000 - 1024 and not said


# place of a byte behind the name of a table: of its flags, and of what they say is there
PLACES = {b"tfhd": (3, 4, 7, 8), b"trun": (2, 3, 7, 8, 10, 11, 15, 16), b"mdat": (-4, -3, -1)}
CASES = [(name, place) for name, places in PLACES.items() for place in places]


@needs_ffmpeg
@pytest.mark.parametrize("name", ["alac.m4a", "picture.mov"])
def test_a_damaged_fragment_is_named(here, sound, name):
    """Of a fragment in the middle: ffmpeg ends there, or reads what is no sound. Where the changed
    bit is none of those that are used, the sound is whole."""
    options = ("-movflags", FLAGS[0], "-frag_duration", 500_000)
    ffmpeg("-i", sound, *FRAGMENTS[name], *options, name)
    whole = (here / name).read_bytes()
    intact = outcome(here / name)
    for table, place in CASES:
        data = bytearray(whole)
        at = data.index(table, data.index(b"moof", len(data) // 2)) + 4 + place
        data[at - (4 if table == b"mdat" else 0)] ^= 1
        (here / name).write_bytes(data)
        found = outcome(here / name)
        assert found == intact or (not found[0] and found[1]), (table, place)


@needs_ffmpeg
def test_a_cut_fragment_is_said(here, sound):
    ffmpeg("-i", sound, *FRAGMENTS["aac.m4a"], "-movflags", FLAGS[0], "a.m4a")
    data = (here / "a.m4a").read_bytes()
    (here / "a.m4a").write_bytes(data[: len(data) // 2])
    assert "its end is missing" in outcome(here / "a.m4a")[1]


def test_fragments_without_samples_are_no_traceback(here):
    def atom(name: bytes, body: bytes) -> bytes:
        return (8 + len(body)).to_bytes(4, "big") + name + body

    whole = atom(b"ftyp", b"isom" + bytes(4)) + atom(b"moov", b"") + atom(b"moof", b"")
    (here / "a.mp4").write_bytes(whole)
    assert not outcome(here / "a.mp4")[0]
    with (here / "a.mp4").open("rb") as file:
        assert Fragments(file).damage() == "a table of a fragment is damaged"
    (here / "b.mp4").write_bytes(whole[:-8])
    with (here / "b.mp4").open("rb") as file:
        assert Fragments(file).damage() is None

"""MP4 files whose times contradict each other: ffmpeg leaves out sound without a word. An edit list
that names a part of the sound is legal."""

import struct
from dataclasses import replace
from pathlib import Path

import audio_files
import numpy as np
import pytest
import soundfile
from audio_files import make
from tagged_files import ffmpeg, needs_ffmpeg

from qse.audio.mp4_times import Tables, tables_of
from qse.audio.reader import open_audio

RECORDED = Path(__file__).parents[1] / "recorded"
SECONDS = 4
IN_MS = ("-movie_timescale", 1000)  # which versions of ffmpeg choose up to 7
# of a file that ffmpeg writes: 30 s at 16 kHz, with an encoder that begins 1,024 samples earlier
WHOLE = Tables(1000, 16000, 30_000, ((30_000, 1024, 1),), 30 * 16000 + 1024, 0.0)


def sound(folder):
    noise = 0.2 * np.random.default_rng(0).standard_normal((16000 * SECONDS, 1))
    return make(folder / "s.wav", noise)


def outcome(path) -> tuple[float, str]:
    """Return the seconds that are read, and what is said of damage."""
    with open_audio(path) as file:
        samples = sum(map(len, file.blocks()))
        return samples / file.layout.sample_rate, file.damage or ""


def tables(path):
    with path.open("rb") as file:
        return tables_of(file)


def changed(path, atom: bytes, offset: int, value: int) -> None:
    """Replace a number of four bytes behind the name of an atom."""
    data = bytearray(path.read_bytes())
    at = data.find(atom) + offset
    data[at : at + 4] = value.to_bytes(4, "big")
    path.write_bytes(data)


@pytest.fixture
def path(here):
    ffmpeg("-i", sound(here), "-c:a", "aac", *IN_MS, "a.m4a")
    return here / "a.m4a"


@needs_ffmpeg
@pytest.mark.parametrize(
    ("atom", "offset", "value"),  # time scale of the movie; length of the edit list
    [
        (b"mvhd", 16, 1000 ^ 1 << 10),
        (b"mvhd", 16, 1000 ^ 1 << 16),
        (b"elst", 12, 2000),
    ],
)
def test_times_that_leave_sound_out(path, atom, offset, value):
    assert tables(path)[0].edits[0][:2] == (1000 * SECONDS, 1024)
    changed(path, atom, offset, value)
    seconds, said = outcome(path)
    assert seconds < SECONDS - 0.5 and "s more than there are" in said


@needs_ffmpeg
@pytest.mark.parametrize("seconds", [1, 2])
@pytest.mark.parametrize("begin", [1024, 1024 + 8000])
def test_trimmed_sound(path, seconds, begin):
    for atom, offset in ((b"mvhd", 20), (b"tkhd", 24), (b"elst", 12)):
        changed(path, atom, offset, 1000 * seconds)
    changed(path, b"elst", 16, begin)
    read, said = outcome(path)
    assert abs(read - seconds) < 0.1 and not said


@needs_ffmpeg
@pytest.mark.parametrize(
    "form",
    [
        ("-c:a", "alac"),
        ("-c:a", "libmp3lame"),
        ("-movie_timescale", 12345),
        ("-movie_timescale", 600),
        ("-use_editlist", 0),
        ("-movflags", "frag_keyframe+empty_moov", "-frag_duration", 1_000_000),
        ("-movflags", "dash", "-frag_duration", 1_000_000),
        ("-ss", 1, "-t", 1.5),
    ],
)
@pytest.mark.parametrize("suffix", ["mp4", "mov"])
def test_intact_file(here, form, suffix):
    ffmpeg("-i", sound(here), *form, f"a.{suffix}")
    assert outcome(here / f"a.{suffix}")[1] == ""


@needs_ffmpeg
def test_sound_that_begins_later_than_the_picture(here):
    source = sound(here)
    picture = ("-f", "lavfi", "-i", f"testsrc=s=64x64:d={2 * SECONDS}")
    ffmpeg("-itsoffset", 1.3, "-i", source, *picture, "-c:v", "mpeg4", "a.mp4")
    assert len(tables(here / "a.mp4")[1].edits) == 2
    assert outcome(here / "a.mp4")[1] == ""


def test_length_of_contradicting_times():
    assert WHOLE.seconds(16000) == 30
    assert replace(WHOLE, edits=((20_000, 1024, 1),)).seconds(16000) == 30
    assert replace(WHOLE, scale=1000 ^ 1 << 13).seconds(16000) == 30
    assert replace(WHOLE, edits=((30_000, 1024 + (1 << 17), 1),)).seconds(16000) == 30
    assert replace(WHOLE, sound_scale=16000 ^ 1 << 12).seconds(16000) == 30


def test_length_of_legal_times():
    trimmed = replace(WHOLE, lasts=10_000, edits=((10_000, 160_000, 1),))
    assert trimmed.seconds(16000) == 10
    later = replace(WHOLE, lasts=32_000, edits=((2000, -1, 1), *WHOLE.edits))
    assert later.seconds(16000) == 30
    twice = replace(WHOLE, lasts=20_000, edits=((10_000, 0, 1), (10_000, 160_000, 1)))
    assert twice.seconds(16000) == 0
    assert replace(twice, lasts=30_000).seconds(16000) == 30
    assert replace(WHOLE, edits=((30_000, 1024, 2),)).seconds(16000) == 0
    assert replace(WHOLE, lasts=0).seconds(16000) == 30
    assert 29 < replace(WHOLE, edits=()).seconds(16000) < 30
    assert 29 < replace(WHOLE, edits=(), sound=0, whole=30.0).seconds(16000) < 30
    assert replace(WHOLE, edits=(), sound=0).seconds(16000) == 0


@needs_ffmpeg
@pytest.mark.parametrize("atom", [b"mvhd", b"mdhd", b"elst", b"stts", b"tkhd", b"hdlr", b"trak"])
def test_tables_that_are_missing(path, atom):
    path.write_bytes(path.read_bytes().replace(atom, b"free"))
    found = tables(path)
    assert not found or found[0].seconds(16000) >= 0


@needs_ffmpeg
def test_tables_that_cannot_be_read(here):
    ffmpeg("-t", "1.2", "-i", sound(here), "-c:a", "alac", "a.m4a")
    assert outcome(here / "a.m4a") == (1.2, "")
    data = (here / "a.m4a").read_bytes()
    (here / "a.m4a").write_bytes(data.replace(b"mdhd", b"ldhd"))
    assert "a track of it is damaged" in audio_files.outcome(here / "a.m4a")[1]


@needs_ffmpeg
@pytest.mark.parametrize("scale", [512, 1024, 65536])
def test_a_power_of_two_as_time_scale(here, scale):
    ffmpeg("-i", sound(here), "-c:a", "aac", "-movie_timescale", scale, "a.m4a")
    assert outcome(here / "a.m4a")[1] == ""


@needs_ffmpeg
def test_silence_before_the_sound_that_contradicts_the_header(here):
    """ffmpeg puts in as much as the edit list states, also hours."""
    picture = ("-f", "lavfi", "-i", "testsrc=size=64x64:duration=4:rate=10")
    late = ("-itsoffset", "0.4", "-i", sound(here))
    ffmpeg(*picture, *late, "-c:v", "mpeg4", "-c:a", "aac", "a.mp4")
    (found,) = tables(here / "a.mp4").values()
    assert found.edits[0][1] == -1 and outcome(here / "a.mp4")[1] == ""
    at = (here / "a.mp4").read_bytes().rindex(b"elst")
    whole = (here / "a.mp4").read_bytes()
    for place, bit in ((14, 4), (13, 0), (16, 0)):  # of the length, and of the begin
        data = bytearray(whole)
        data[at + place] ^= 1 << bit
        (here / "a.mp4").write_bytes(data)
        assert "its edit list states other times" in outcome(here / "a.mp4")[1]
        assert "its edit list states" in audio_files.outcome(here / "a.mp4", stop=16000)[1]


def test_header_that_leaves_out_the_silence():
    """As programs write it that count the sound alone."""
    edits = ((436, -1, 1), (2564, 1024, 1))
    for lasts, said in ((3000, False), (2564, False), (0, False), (2700, True), (66_000, True)):
        assert replace(WHOLE, edits=edits, lasts=lasts).is_displaced() is said


@pytest.mark.parametrize("bit", range(2, 12))
def test_other_units_of_the_movie_displace_the_sound_behind_silence(bit):
    late = replace(WHOLE, edits=((3000, -1, 1), (30_000, 1024, 1)), lasts=33_000)
    assert not late.is_displaced()
    assert replace(late, scale=late.scale ^ 1 << bit).is_displaced()


def in_parts(data: bytes, *edits: tuple[int, int]) -> bytes:
    """Return a file whose tables lie at its end with other parts of its edit list: milliseconds
    and begin each."""
    at = data.index(b"elst") - 4
    size = int.from_bytes(data[at : at + 4], "big")
    body = b"".join(struct.pack(">Iihh", length, begin, 1, 0) for length, begin in edits)
    atom = struct.pack(">I4sII", 16 + len(body), b"elst", 0, len(edits)) + body
    new = bytearray(data[:at] + atom + data[at + size :])
    for name in (b"moov", b"trak", b"edts"):
        place = new.index(name) - 4
        old = int.from_bytes(new[place : place + 4], "big")
        new[place : place + 4] = (old + len(atom) - size).to_bytes(4, "big")
    for name, offset in ((b"tkhd", 24), (b"mvhd", 20)):
        place = new.index(name) + offset
        new[place : place + 4] = sum(length for length, _ in edits).to_bytes(4, "big")
    return bytes(new)


@needs_ffmpeg
def test_parts_of_an_edit_list_behind_the_sound(path):
    """ffmpeg leaves them out."""
    data = path.read_bytes()
    for edits in (
        ((1000, 1024), (2000, 32_000 | 1 << 20)),
        ((1000, 48_000 | 1 << 17), (2000, 32_000)),
        ((1000, 1024), (2000, 40_000)),
        ((2000, 16_000 | 1 << 18),),
        ((2000, 40_000),),
        ((1000 * SECONDS, 1024 + (2 << 14)),),
    ):
        path.write_bytes(in_parts(data, *edits))
        assert "names more sound than there is" in audio_files.outcome(path)[1], edits


@needs_ffmpeg
def test_parts_of_an_edit_list_within_the_sound(path):
    """Also a little too long, as programs round them."""
    data = path.read_bytes()
    for edits in (
        ((1000, 1024), (2000, 32_000)),
        ((1000, 32_000), (2000, 1024), (500, 1024)),
        ((1000, 1024), (2050, 1024 + 32_000)),
        ((2000, 16_000),),
        ((500, -1), (1000, 1024), (2000, 32_000)),
    ):
        path.write_bytes(in_parts(data, *edits))
        assert outcome(path)[1] == "", edits


@needs_ffmpeg
def test_a_file_that_is_cut_in_what_its_edit_list_leaves_out(here):
    """ffmpeg ends there, without a word."""
    loop = ("-stream_loop", "5", "-i", sound(here))
    ffmpeg(*loop, "-c:a", "aac", "-movflags", "faststart", *IN_MS, "a.m4a")
    before = (here / "a.m4a").read_bytes()
    data = bytearray(in_parts(before, (4000, 1024), (4000, 16 * 16000)))
    at = data.index(b"stco") + 8
    count = int.from_bytes(data[at : at + 4], "big")
    form = struct.Struct(f">{count}I")
    moved = [place + len(data) - len(before) for place in form.unpack_from(data, at + 4)]
    form.pack_into(data, at + 4, *moved)
    (here / "a.m4a").write_bytes(data)
    assert outcome(here / "a.m4a") == (pytest.approx(8, abs=0.1), "")
    (here / "a.m4a").write_bytes(data[: len(data) * 4 // 10])
    assert "its header states 3.9" in outcome(here / "a.m4a")[1]


@needs_ffmpeg
@pytest.mark.parametrize("name", [b"edts", b"elst"])
def test_an_edit_list_that_is_damaged(path, name):
    """ffmpeg ignores it, so that what it leaves out is heard."""
    whole = path.read_bytes()
    at = whole.rindex(name)
    places = (-1, 0, 3) if name == b"edts" else (-1, 0, 3, 11)  # of its size, name and count
    for place in places:
        data = bytearray(whole)
        data[at + place] ^= 1
        path.write_bytes(data)
        samples, said = audio_files.outcome(path)
        assert not samples or "its edit list is damaged" in said, place


@needs_ffmpeg
def test_a_tag_of_the_samples_to_be_left_out(path):
    mp4 = pytest.importorskip("mutagen.mp4")
    ffmpeg("-i", path, "-c:a", "aac", "-use_editlist", "0", "b.m4a")
    (found,) = tables(path.parent / "b.m4a").values()
    file = mp4.MP4(path.parent / "b.m4a")
    heard = 16000 * SECONDS
    for begin, said in ((1024, False), (1024 + 8192, True), (0, True)):
        text = f" 00000000 {begin:08X} {found.sound - 1024 - heard:08X} {heard:016X}"
        file["----:com.apple.iTunes:iTunSMPB"] = [text.encode()]
        file.save()
        assert ("iTunSMPB" in outcome(path.parent / "b.m4a")[1]) is said


@needs_ffmpeg
def test_he_aac_without_an_edit_list(tmp_path):
    """ffmpeg counts samples to be left out at half their rate, and a gap was filled in their place.
    The file is by fdkaac 1.0.7."""
    ffmpeg("-i", RECORDED / "he-aac.m4a", tmp_path / "a.wav")
    wanted = soundfile.read(tmp_path / "a.wav")[0][:, 0]
    with open_audio(RECORDED / "he-aac.m4a") as file:
        heard = np.concatenate(list(file.blocks()))[:, 0]
        assert not file.damage
    np.testing.assert_allclose(heard[: len(wanted)], wanted, atol=1e-3)


def test_edit_lists_as_long_as_the_picture():
    longer = replace(WHOLE, edits=((40_000, 1024, 1),))
    assert not longer.is_exceeded(16000)
    assert replace(longer, edits=((40_000, 10_000, 1),)).is_exceeded(16000)
    twice = replace(longer, edits=(*WHOLE.edits, *longer.edits))
    assert twice.is_exceeded(16000)
    assert not replace(twice, is_extended=True).is_exceeded(16000)
    assert not replace(twice, sound=0).is_exceeded(16000)
    assert not replace(twice, edits=((40_000, 10_000, 2),)).is_exceeded(16000)
    assert not replace(twice, edits=()).is_exceeded(16000)


@needs_ffmpeg
def test_silence_behind_sound(path):
    """ffmpeg repeats the beginning in place of it."""
    path.write_bytes(in_parts(path.read_bytes(), (1000, 1024), (1000, -1), (3000, 17_024)))
    assert "states silence behind sound" in audio_files.outcome(path)[1]


@needs_ffmpeg
@pytest.mark.parametrize("rate", [0, 0x8000, 0x20000])
def test_an_edit_of_another_speed(path, rate):
    """ffmpeg reads it as if it had the usual one."""
    changed(path, b"elst", 20, rate)
    assert "or another speed" in audio_files.outcome(path)[1]

"""Files that are cut, or lack their beginning, where decoders say nothing of it."""

import struct
import tracemalloc

import pytest
import soundfile
from audio_files import make, outcome, tone
from tagged_files import ffmpeg, needs_ffmpeg

from qse.audio.tta import unread_bytes

PICTURES = ("-f", "lavfi", "-i", "testsrc=duration=3:size=64x48:rate=10")
RATE = 16000


@pytest.fixture
def sound(here):
    return make(here / "s.wav", tone(3 * RATE), "PCM_16")


@needs_ffmpeg
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("a.oga", ("-c:a", "flac")),
        ("two.ogg", ("-map", "0", "-map", "0", "-c:a", "libvorbis")),
        ("pictures.ogv", (*PICTURES, "-c:v", "libtheora", "-c:a", "libvorbis")),
    ],
)
def test_ogg_that_is_cut_between_two_pages(here, sound, name, options):
    ffmpeg("-i", sound, *options, "-page_duration", 100_000, name)
    path = here / name
    assert outcome(path, stop=1)[1] == "" and outcome(path)[0] >= 3 * RATE
    assert outcome(path)[1] == ""
    data = path.read_bytes()
    path.write_bytes(data[: data.rindex(b"OggS", 0, 2 * len(data) // 3)])
    assert "its last page is not marked as such" in outcome(path)[1]


@needs_ffmpeg
@pytest.mark.parametrize("suffix", ["flv", "wmv"])
@pytest.mark.parametrize("pictures", [(), (*PICTURES, "-b:v", "50k")])
def test_cut_flv_and_wmv(here, sound, suffix, pictures):
    path = here / f"a.{suffix}"
    ffmpeg("-i", sound, *pictures, "-ar", 44100, path)
    samples, said = outcome(path)
    assert samples > 2.9 * 44100 and not said
    data = path.read_bytes()
    for share in (0.4, 0.7, 0.9):
        path.write_bytes(data[: round(share * len(data))])
        assert "is damaged" in outcome(path)[1]


@needs_ffmpeg
@pytest.mark.parametrize("pictures", [(), PICTURES])
def test_joined_wmv(here, sound, pictures):
    path = here / "a.wmv"
    ffmpeg("-i", sound, *pictures, "-ar", 44100, path)
    path.write_bytes(2 * path.read_bytes())
    samples, said = outcome(path)
    assert not samples and "bytes behind its end are not read" in said


@needs_ffmpeg
def test_wmv_that_is_cut_between_two_packets(here, sound):
    path = here / "a.wmv"
    ffmpeg("-i", sound, *PICTURES, "-b:v", "50k", "-ar", 44100, "-packet_size", 1000, path)
    data = path.read_bytes()
    first = data.index(bytes.fromhex("3626b2758e66cf11a6d900aa0062ce6c")) + 50
    path.write_bytes(data[: first + 1000 * ((len(data) - first) // 2000)])
    assert "is damaged: " in outcome(path)[1]


@needs_ffmpeg
def test_flv_that_is_cut_between_two_tags(here, sound):
    path = here / "a.flv"
    ffmpeg("-i", sound, *PICTURES, "-ar", 44100, path)
    data = path.read_bytes()
    at = 13  # behind the header
    while at < len(data) // 2:
        at += 11 + int.from_bytes(data[at + 1 : at + 4], "big") + 4
    path.write_bytes(data[:at])
    assert "s more than there are" in outcome(path)[1]


@pytest.mark.parametrize("options", [(), ("-write_xing", "0")])
@needs_ffmpeg
def test_mp3_whose_beginning_is_zeros(here, sound, options):
    ffmpeg("-i", sound, "-b:a", "64k", *options, "a.mp3")
    data = (here / "a.mp3").read_bytes()
    assert outcome(here / "a.mp3")[1] == ""
    frame = data.index(b"\xff\xf3", len(data) // 3)
    (here / "a.mp3").write_bytes(bytes(frame) + data[frame:])
    assert "bytes are no frames at 0.00 s" in outcome(here / "a.mp3")[1]


def test_samples_behind_more_chunks_than_are_looked_at(here, sound):
    data = sound.read_bytes()
    at = data.index(b"data")
    half = (len(data) - at - 8) // 2
    empty = struct.pack("<4sI", b"JUNK", 0) * 4100
    first = struct.pack("<4sI", b"data", half) + data[at + 8 : at + 8 + half]
    rest = struct.pack("<4sI", b"data", half) + data[at + 8 + half :]
    body = data[12:at] + first + empty + rest
    sound.write_bytes(struct.pack("<4sI4s", b"RIFF", 4 + len(body), b"WAVE") + body)
    assert "bytes behind its samples are not read" in outcome(sound)[1]


@needs_ffmpeg
def test_track_that_is_copied_is_checked(here, sound, command):
    """Of its 4th table of samples, half of the places are wrong."""
    noise = make(here / "n.wav", tone(3 * RATE)[::-1], "PCM_16")
    ffmpeg("-i", sound, "-i", noise, *("-map", 0, "-map", 1, "-c:a", "aac"), "a.mp4")
    options = ("a.mp4", "--track", "1", "--model", "live-tiny", "--overwrite", "-o", "b.mp4")
    status, _, err = command("denoise", *options)
    assert status == 0 and "is copied as it is" not in err, err
    data = bytearray((here / "a.mp4").read_bytes())
    at = data.rindex(b"stco") + 8
    count = int.from_bytes(data[at : at + 4], "big")
    for place in range(at + 4 + 4 * (count // 2), at + 4 + 4 * count, 4):
        data[place] |= 0x10  # behind the end of the file
    (here / "a.mp4").write_bytes(data)
    status, _, err = command("denoise", *options)
    assert status == 0 and "track 2 is copied as it is: a.mp4 may be damaged" in err, err


@needs_ffmpeg
@pytest.mark.parametrize("missing", range(1, 5))
def test_flv_that_is_cut_within_the_size_behind_a_tag(here, sound, missing):
    path = here / "a.flv"
    ffmpeg("-i", sound, "-ar", 44100, "-flvflags", "no_duration_filesize", path)
    assert outcome(path)[1] == ""
    path.write_bytes(path.read_bytes()[:-missing])
    assert "its end is missing" in outcome(path)[1]


def test_flv_whose_first_tag_states_another_coding(here, sound):
    """ffmpeg reads the three bytes of that tag as mu-law, and leaves out the others."""
    path = here / "a.flv"
    ffmpeg("-i", sound, *PICTURES, "-ar", 44100, "-c:a", "aac", path)
    assert outcome(path)[1] == ""
    data = bytearray(path.read_bytes())
    data[data.index(b"\xaf\x00")] ^= 1 << 5
    path.write_bytes(data)
    assert "s more than there are" in outcome(path)[1]


@needs_ffmpeg
def test_tta_files_joined_to_one(here, sound):
    ffmpeg("-i", sound, "-metadata", "title=a", "a.tta")
    assert outcome(here / "a.tta") == (3 * RATE, "")
    data = (here / "a.tta").read_bytes()
    (here / "a.tta").write_bytes(2 * data)
    assert f"{len(data)} bytes behind its samples are not read" in outcome(here / "a.tta")[1]


@needs_ffmpeg
def test_tags_of_flv_with_another_coding_in_the_middle(here, sound):
    """ffmpeg takes them for another track, and leaves that out, where they come behind the part in
    which it looks for tracks."""
    ffmpeg("-stream_loop", 59, "-i", sound, "-ar", 44100, "-c:a", "mp3", "-b:a", "64k", "a.flv")
    ffmpeg("-i", sound, "-ar", 44100, "-c:a", "aac", "b.flv")
    assert outcome(here / "a.flv")[1] == ""
    behind = bytearray((here / "b.flv").read_bytes()[13:])
    at = 0
    while at < len(behind):
        time = 180_000 + int.from_bytes(behind[at + 4 : at + 7], "big")
        behind[at + 4 : at + 7] = time.to_bytes(3, "big")
        at += 15 + int.from_bytes(behind[at + 1 : at + 4], "big")
    (here / "a.flv").write_bytes((here / "a.flv").read_bytes() + behind)
    assert "sound of another track begins within it" in outcome(here / "a.flv")[1]


@pytest.mark.parametrize("form", ["SVX", "MAT5", "AVR"])
def test_kind_that_is_not_checked(here, form):
    """A cut file of such a kind is read without a word by libsndfile."""
    soundfile.write(here / "a", tone(3 * RATE), RATE, "PCM_16", format=form)
    data = (here / "a").read_bytes()
    (here / "a").write_bytes(data[: 2 * len(data) // 3])
    samples, said = outcome(here / "a")
    assert 0 < samples < 3 * RATE and "no file of its kind is checked" in said


@needs_ffmpeg
@pytest.mark.parametrize(
    "text",
    [
        *("[error] my day", "[fatal] a", "adding 9000000000 audio samples", "New audio stream"),
        *("corrupt input packet in stream 0", "tb:1/1 samplefmt:a samplerate:1 chlayout:a"),
    ],
)
def test_tags_and_names_with_the_words_of_ffmpeg(here, sound, text):
    path = here / f"{text.replace('/', '')}.m4a"
    ffmpeg("-i", sound, "-c:a", "alac", "-metadata", f"title={text}", f"file:{path}")
    assert outcome(path) == (3 * RATE, "")


@needs_ffmpeg
def test_mxf_with_more_sound_than_it_states(here, sound):
    """The length of an element is damaged, so that pictures are read as samples."""
    path = here / "a.mxf"
    ffmpeg("-i", sound, *PICTURES, *("-r", 25, "-ar", 48000, "-c:a", "pcm_s16le"), path)
    assert outcome(path)[1] == ""
    data = bytearray(path.read_bytes())
    key = bytes.fromhex("060e2b34010201010d01030116")  # an element of sound in pieces of a picture
    at = data.index(key, len(data) // 2) + 16
    assert data[at] == 0x83
    data[at + 1] ^= 2
    path.write_bytes(data)
    assert outcome(path)[1]


def test_midi_sample_dump_is_refused(here):
    soundfile.write(here / "a.sds", tone(RATE), RATE, "PCM_16", format="SDS")
    assert "is a MIDI sample dump" in outcome(here / "a.sds")[1]


def test_tta_that_states_billions_of_frames_takes_no_memory_for_them(here):
    with (here / "a.tta").open("wb") as file:
        file.write(struct.pack("<4s3H3I", b"TTA1", 1, 1, 16, 1, (1 << 32) - 1, 0))
        file.truncate(1 << 33)
    tracemalloc.start()
    assert unread_bytes(here / "a.tta") == 0
    assert tracemalloc.get_traced_memory()[1] < 50e6
    tracemalloc.stop()


@needs_ffmpeg
def test_zeros_in_place_of_frames_of_mp2(here, sound):
    """ffmpeg leaves them out, and tells of some alone."""
    for rate, kbit in ((48000, "64k"), (22050, "32k"), (44100, "192k")):
        ffmpeg("-i", sound, "-ar", rate, "-b:a", kbit, "a.mp2")
        whole = (here / "a.mp2").read_bytes()
        assert outcome(here / "a.mp2")[1] == ""
        for at in range(0, len(whole) - 2048, 2048 * 3):
            (here / "b.mp2").write_bytes(whole[:at] + bytes(2048) + whole[at + 2048 :])
            assert outcome(here / "b.mp2")[1], at


@needs_ffmpeg
def test_gsm_under_any_name(here, sound):
    ffmpeg("-stream_loop", 3, "-i", sound, "-ar", 8000, "-c:a", "libgsm", "a.gsm")
    whole = (here / "a.gsm").read_bytes()
    (here / "in").write_bytes(whole)
    assert outcome(here / "in")[1] == ""
    (here / "in").write_bytes(whole[:4096] + bytes(4096) + whole[8192:])
    assert "bytes are no frame at" in outcome(here / "in")[1]

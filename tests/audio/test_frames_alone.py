"""Files of frames without a header of the file: what does not begin with a frame."""

import subprocess

import pytest
from audio_files import make, outcome, tone
from tagged_files import ffmpeg, needs_ffmpeg, needs_sox

from qse.audio.mp3_frames import read_frames
from qse.audio.reader import open_audio

pytestmark = needs_ffmpeg
FRAME = 33  # bytes of GSM


@pytest.fixture
def sound(here):
    return make(here / "s.wav", tone(32_000), "PCM_16", 8000)


@pytest.fixture
def call(here, sound):
    subprocess.run(["sox", sound, here / "a.gsm"], check=True)
    return here / "a.gsm"


@needs_sox
def test_intact_gsm(call):
    samples, said = outcome(call)
    assert samples >= 32_000 and not said


@needs_sox
def test_damaged_frames_of_gsm(call):
    data = bytearray(call.read_bytes())
    data[40 * FRAME : 42 * FRAME] = bytes(2 * FRAME)
    call.write_bytes(data[:-5])
    said = outcome(call)[1]
    assert "bytes are no frame at 0.80 s, bytes are no frame at 0.82 s" in said
    assert "its last frame is cut" in said


@pytest.mark.parametrize("missing", [1, 700, 4000])
def test_aac_that_begins_within_a_frame(here, sound, missing):
    ffmpeg("-i", sound, "-ar", 16000, "-b:a", "64k", "a.aac")
    data = (here / "a.aac").read_bytes()
    (here / "a.aac").write_bytes(data[missing:])
    assert "bytes are no frames at 0.00 s" in outcome(here / "a.aac")[1]
    with open_audio(here / "a.aac", salvage=True) as source:
        assert source.layout.sample_rate == 16000


def test_mp2_whose_last_frame_is_cut(here, sound):
    ffmpeg("-i", sound, "-ar", 16000, "a.mp2")
    data = (here / "a.mp2").read_bytes()
    (here / "a.mp2").write_bytes(data[:-5])
    assert "its last frame is cut" in outcome(here / "a.mp2")[1]


def test_mp3_that_was_begun_again(here):
    """As a download that is continued wrongly: the rest of the first file is missing. A joined file
    of two whole ones is intact; of the first frame that a cut leaves, a part is in the second
    file."""
    for name in "ab":
        make(here / f"{name}.mp3", tone(64_000))
    first, second = ((here / f"{name}.mp3").read_bytes() for name in "ab")
    joined = here / "joined.mp3"
    joined.write_bytes(first + second)
    samples, said = outcome(joined)
    assert samples >= 128_000 and not said
    for cut in range(len(first) // 2, len(first) // 2 + 300, 7):
        joined.write_bytes(first[:cut] + second)
        found = read_frames(joined)
        assert found.places(16000) and not outcome(joined)[0], cut


@pytest.mark.parametrize(
    ("name", "options"),
    [("a.mp3", ("-q:a", 4, "-write_xing", 0)), ("a.voc", ("-ar", 8000, "-c:a", "pcm_u8"))],
)
def test_zeros_in_place_of_the_end(here, sound, name, options):
    """As a copy that was interrupted leaves them in a file whose size was reserved."""
    ffmpeg("-i", sound, *options, name)
    path = here / name
    whole = path.read_bytes()
    assert outcome(path)[0] >= 32_000 and not outcome(path)[1]
    kept = len(whole) // 2
    path.write_bytes(whole[:kept] + bytes(max(6000, len(whole) - kept)))
    read, said = outcome(path)
    assert said and (not read or "may be" in said)


@pytest.mark.parametrize("zeros", [100, 1000, 4000])
def test_few_zeros_in_place_of_the_end(here, sound, zeros):
    """The last block of a copy, of frames of 8 kbit/s: 4 s."""
    ffmpeg("-i", sound, "-ar", 16000, "-b:a", "8k", "-write_xing", 0, "a.mp3")
    data = (here / "a.mp3").read_bytes()
    assert not outcome(here / "a.mp3")[1]
    (here / "a.mp3").write_bytes(data[:-zeros] + bytes(zeros))
    said = outcome(here / "a.mp3")[1]
    assert "zeros stand in place" in said or "is damaged" in said


def test_few_zeros_in_place_of_the_beginning(here, sound):
    """Frames of 64 kbit/s at 48 kHz have 192 bytes."""
    ffmpeg("-i", sound, "-ar", 48000, "-b:a", "64k", "-write_xing", 0, "-id3v2_version", 0, "a.mp3")
    data = (here / "a.mp3").read_bytes()
    assert not outcome(here / "a.mp3")[1]
    (here / "a.mp3").write_bytes(bytes(3072) + data[3072:])
    said = outcome(here / "a.mp3")[1]
    assert "zeros stand in place" in said or "is damaged" in said


@pytest.mark.parametrize("missing", [1, 33, 64])
@pytest.mark.parametrize(
    ("suffix", "coding"), [("wav", "adpcm_ima_wav"), ("wav", "gsm_ms"), ("aifc", "adpcm_ima_qt")]
)
def test_bytes_that_are_missing_from_blocks(here, sound, suffix, coding, missing):
    """All blocks behind are noise."""
    form = ("-f", "aiff") if suffix == "aifc" else ()
    coding = "libgsm_ms" if coding == "gsm_ms" else coding
    ffmpeg("-i", sound, "-ar", 8000, "-c:a", coding, *form, f"a.{suffix}")
    data = (here / f"a.{suffix}").read_bytes()
    assert not outcome(here / f"a.{suffix}")[1]
    (here / f"a.{suffix}").write_bytes(data[:3000] + data[3000 + missing :])
    assert outcome(here / f"a.{suffix}")[1]


@pytest.mark.parametrize("suffix", ["mp2", "dts", "ts"])
def test_file_that_does_not_begin_as_its_name_says(here, sound, suffix):
    more = ("-strict", "-2") if suffix == "dts" else ()
    ffmpeg("-i", sound, "-ar", 48000, *more, f"a.{suffix}")
    assert "begin" not in outcome(here / f"a.{suffix}")[1]
    data = (here / f"a.{suffix}").read_bytes()
    (here / f"a.{suffix}").write_bytes(data[5001:])
    assert "does not begin like a file of its name" in outcome(here / f"a.{suffix}")[1]


def test_latm_under_the_name_of_aac(here, sound):
    ffmpeg("-i", sound, "-ar", 16000, "-c:a", "aac", "-f", "latm", "a.aac")
    samples, said = outcome(here / "a.aac")
    assert samples >= 64_000 and not said


def test_damaged_frames_of_mp3_in_wav(here, sound):
    """libsndfile ends at them, without an error."""
    ffmpeg("-i", sound, "-ar", 16000, "-c:a", "libmp3lame", "-b:a", "64k", "a.wav")
    path = here / "a.wav"
    whole = path.read_bytes()
    samples, said = outcome(path)
    assert samples > 60_000 and not said
    at = whole.index(whole[whole.index(b"data") + 8 :][:2], len(whole) // 2)  # a frame
    for changed in (
        whole[:at] + bytes(512) + whole[at + 512 :],
        whole[:at] + bytes([whole[at], whole[at + 1] ^ 8]) + whole[at + 2 :],
        whole[: at + 50] + whole[at + 51 :] + b"\0",
        whole[:-1000] + bytes(1000),
    ):
        path.write_bytes(changed)
        assert "is damaged" in outcome(path)[1]


def tag(size: int, body: bytes = b"") -> bytes:
    """Return an ID3v2 tag that states `size` bytes behind its header."""
    digits = bytes(size >> shift & 0x7F for shift in (21, 14, 7, 0))
    return b"ID3\4\0\0" + digits + body


TITLE = b"TIT2\0\0\0\6\0\0\3Title"
FORMS = {
    "mp3": ("libmp3lame", b"\xff\xfb"),
    "aac": ("aac", b"\xff\xf1"),
    "mp2": ("mp2", b"\xff\xfd"),
}


def tagged_frames(here, sound, suffix: str) -> tuple[bytes, list[int]]:
    """Return frames behind a tag of 118 bytes with padding, and where they begin."""
    coder, sign = FORMS[suffix]
    ffmpeg(
        "-i", sound, "-ar", 48000, "-c:a", coder, "-b:a", "128k", "-id3v2_version", 0, f"a.{suffix}"
    )
    data = tag(118, TITLE).ljust(128, b"\0") + (here / f"a.{suffix}").read_bytes()
    (here / f"a.{suffix}").write_bytes(data)
    samples, said = outcome(here / f"a.{suffix}")
    assert samples >= 6 * 32_000 and not said
    ends = [128]
    if suffix == "aac":
        while ends[-1] < len(data):
            head = data[ends[-1] :]
            ends.append(ends[-1] + ((head[3] & 3) << 11 | head[4] << 3 | head[5] >> 5))
    else:
        ends += range(128 + 384, len(data), 384)
    assert all(data[at:].startswith((sign, b"")) for at in ends[:-1])
    return data, ends


@pytest.mark.parametrize("suffix", FORMS)
@pytest.mark.parametrize("frames", [3, 12, 60])
def test_a_tag_that_states_too_many_bytes(here, sound, suffix, frames):
    """It takes frames for its own, and among them that which states the length."""
    data, places = tagged_frames(here, sound, suffix)
    (here / f"a.{suffix}").write_bytes(tag(places[frames] - 10) + data[10:])
    said = outcome(here / f"a.{suffix}")[1]
    assert "frames at 0.00 s" in said or "frames lie within the tag" in said


@pytest.mark.parametrize("suffix", FORMS)
@pytest.mark.parametrize("begin", [40, 128])
def test_zeros_in_place_of_the_first_frames_behind_a_tag(here, sound, suffix, begin):
    data, places = tagged_frames(here, sound, suffix)
    end = places[30]
    (here / f"a.{suffix}").write_bytes(data[:begin] + bytes(end - begin) + data[end:])
    assert outcome(here / f"a.{suffix}")[1]


def test_zeros_in_place_of_the_first_frames_of_a_joined_file(here, sound):
    data, places = tagged_frames(here, sound, "mp3")
    joined = here / "joined.mp3"
    joined.write_bytes(data + data)
    assert outcome(joined)[0] >= 12 * 32_000 and not outcome(joined)[1]
    joined.write_bytes(data + data[:128] + bytes(places[30] - 128) + data[places[30] :])
    assert "bytes are no frames at 4.0" in outcome(joined)[1]

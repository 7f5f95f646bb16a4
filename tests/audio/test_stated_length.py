"""Sound that is missing from files of other containers, of which ffmpeg calls nothing an error."""

import subprocess

import numpy as np
import pytest
import soundfile
from audio_files import outcome
from tagged_files import ffmpeg, needs_ffmpeg, needs_sox, wav

from qse.audio.reader import open_audio

pytestmark = needs_ffmpeg
FORMS = {
    "avi": ("-c:a", "pcm_s16le"),
    "flv": ("-ar", 44100, "-c:a", "mp3"),
    "mxf": ("-f", "lavfi", "-i", "testsrc=s=64x64:r=25:d=1", "-ar", 48000, "-shortest"),
    "sox": (),
    "ts": ("-c:a", "mp2"),
    "tta": (),
    "voc": (),
    "wv": (),
}


def run(line) -> bytes:
    """Return what a program prints."""
    return subprocess.run(line, check=True, capture_output=True).stdout


@pytest.fixture(params=FORMS)
def path(here, request):
    ffmpeg("-i", wav(here / "s.wav"), *FORMS[request.param], f"a.{request.param}")
    return here / f"a.{request.param}"


def test_whole_file_is_read_without_a_word(path):
    samples, said = outcome(path)
    assert samples and not said


@pytest.mark.parametrize("path", ["avi", "flv", "mxf", "sox", "tta", "voc", "wv"], indirect=True)
def test_cut_file(path):
    whole = outcome(path)[0]
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    samples, said = outcome(path)
    assert samples < whole and said


@pytest.mark.parametrize("path", ["avi", "mxf", "sox", "tta", "voc", "wv"], indirect=True)
def test_file_without_some_bytes(path):
    whole = outcome(path)[0]
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2] + data[len(data) // 2 + 6000 :])
    samples, said = outcome(path)
    assert samples < whole and said


@pytest.mark.parametrize(("path", "sign"), [("voc", b"\2\0"), ("wv", b"wvpk")], indirect=["path"])
def test_file_that_ends_between_two_blocks(path, sign):
    whole = outcome(path)[0]
    data = path.read_bytes()
    path.write_bytes(data[: data.rindex(sign, 0, len(data) * 3 // 4)])
    samples, said = outcome(path)
    assert samples < whole and said


@needs_sox
def test_blocks_of_voc(here):
    """sox writes one block with a size that is a little too small, and reads several."""
    whole = wav(here / "s.wav", subtype="PCM_U8")
    run(["sox", whole, "one.voc"])
    ffmpeg("-i", whole, "-c:a", "pcm_u8", "several.voc")
    for name in ("one.voc", "several.voc"):
        assert outcome(here / name) == (16000, "")
    data = (here / "one.voc").read_bytes()
    (here / "pause.voc").write_bytes(data[:-1] + b"\3\3\0\0" + b"\x10\x27\x9c" + data[30:])
    assert "holds pauses" in outcome(here / "pause.voc")[1]
    # behind the first block, of which 32 bytes are kept, one with twice the rate
    other = bytearray(data[26:])
    other[4] = 256 - 10**6 // 32000
    length = (34).to_bytes(3, "little")
    (here / "rate.voc").write_bytes(data[:27] + length + data[30:64] + other)
    assert "differ in rate" in outcome(here / "rate.voc")[1]
    (here / "more.voc").write_bytes(data + data)
    assert "behind its last block" in outcome(here / "more.voc")[1]


@pytest.mark.parametrize("subtype", ["PCM_16", "PCM_U8", "ALAW", "ULAW"])
@pytest.mark.parametrize("channels", [1, 2])
def test_voc_of_libsndfile_is_whole(here, subtype, channels):
    sound = np.zeros((16000, channels))
    soundfile.write("a.voc", sound, 16000, subtype)
    samples, said = outcome(here / "a.voc")
    assert 0 <= samples - 16000 <= 1 and not said


def test_block_of_voc_that_is_larger_than_its_size_can_say(here):
    size = (1 << 24) // 2 + 5000  # samples of two bytes
    sound = np.tile(np.linspace(-0.5, 0.5, 1000), size // 1000)
    soundfile.write("a.voc", sound, 48000, "PCM_16")
    assert outcome(here / "a.voc") == (len(sound), "")
    data = (here / "a.voc").read_bytes()
    (here / "a.voc").write_bytes(data[: len(data) // 2])
    assert outcome(here / "a.voc")[1]


@pytest.mark.parametrize("suffix", ["wav", "aiff"])
def test_block_that_is_missing_before_a_tag_that_ends_in_zeros(here, suffix):
    """The samples reach into the tag then, and nothing is behind them: the size of the file
    tells it."""
    path = here / f"a.{suffix}"
    soundfile.write(path, np.random.default_rng(0).uniform(-0.1, 0.1, 80000), 16000)
    order = "little" if suffix == "wav" else "big"
    body = b"ID3\4\0\0\0\0\x77\x76TIT2" + bytes(15340)
    data = path.read_bytes() + b"ID3 " + len(body).to_bytes(4, order) + body
    path.write_bytes(data[:4] + (len(data) - 8).to_bytes(4, order) + data[8:])
    assert outcome(path) == (80000, "")
    whole = path.read_bytes()
    path.write_bytes(whole[:40960] + whole[45056:])
    assert "its header states 4096 more bytes than the file has" in outcome(path)[1]
    path.write_bytes(whole[:-4096])
    assert "bytes than the file has" not in outcome(path)[1]


@pytest.mark.parametrize("suffix, coding", [("caf", "adpcm_ima_qt"), ("mov", "pcm_s16le")])
def test_block_that_is_missing_from_a_part_that_ffmpeg_reads(here, suffix, coding):
    """Its index is in front, and nothing says where the block was."""
    path = here / f"a.{suffix}"
    source = ("-f", "lavfi", "-i", "anoisesrc=d=8:r=16000:a=0.1")
    ffmpeg(*source, "-c:a", coding, *(("-movflags", "+faststart") if suffix == "mov" else ()), path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 3] + data[len(data) // 3 + 8192 :])
    with open_audio(path, salvage=True) as reader:
        assert sum(map(len, reader.blocks(16000 * 5))) >= 16000 * 5
    assert "missing" in reader.damage

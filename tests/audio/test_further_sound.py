"""Sound behind the samples that a header counts, or in another form than the beginning, is not left
out without a word."""

import numpy as np
import pytest
from audio_files import make, outcome, tone
from tagged_files import ffmpeg, needs_ffmpeg

KINDS = ("wav", "rf64", "aiff", "caf", "w64", "au", "flac")
FIELDS = {  # suffix -> the field that counts bytes or samples: what is before it, offset, bytes
    "wav": (b"data", 4, 4, "little"),
    "rf64": (b"ds64", 16, 8, "little"),
    "aiff": (b"SSND", 4, 4, "big"),
    "caf": (b"data", 4, 8, "big"),
    "w64": (b"data\xf3", 16, 8, "little"),
    "au": (b".snd", 8, 4, "big"),
    "flac": (b"fLaC", 22, 4, "big"),
}


def halved(data: bytes, suffix: str) -> bytes:
    sign, offset, width, order = FIELDS[suffix]
    at = data.find(sign) + offset
    value = int.from_bytes(data[at : at + width], order)
    return data[:at] + (value // 8 * 4).to_bytes(width, order) + data[at + width :]


@pytest.mark.parametrize("suffix", KINDS)
def test_a_whole_file_is_read_without_a_word(tmp_path, suffix):
    path = make(tmp_path / f"a.{suffix}", tone(16000))
    assert outcome(path) == (16000, "")
    path.write_bytes(path.read_bytes() + bytes(50_000))  # room that was reserved
    assert outcome(path)[0] == 16000


@pytest.mark.parametrize("suffix", KINDS)
@pytest.mark.parametrize("longer", ["first", "second"])
def test_joined_files(tmp_path, suffix, longer):
    lengths = (64000, 16000) if longer == "first" else (16000, 64000)
    first = make(tmp_path / f"a.{suffix}", tone(lengths[0]))
    second = make(tmp_path / f"b.{suffix}", tone(lengths[1]))
    joined = tmp_path / f"joined.{suffix}"
    joined.write_bytes(first.read_bytes() + second.read_bytes())
    read, said = outcome(joined)
    assert not read or said
    assert "joined." in said
    read, said = outcome(joined, salvage=True)
    assert (not read or read >= lengths[0]) and said


@pytest.mark.parametrize("suffix", KINDS)
def test_a_header_that_counts_half(tmp_path, suffix):
    path = make(tmp_path / f"a.{suffix}", tone(64000))
    path.write_bytes(halved(path.read_bytes(), suffix))
    read, said = outcome(path)
    assert not read and "not read" in said
    read, said = outcome(path, salvage=True)
    assert read >= 31990 and "not read" in said
    if suffix not in ("flac", "aiff"):
        assert "2.00 s were read, at least 2.00 s are missing" in said


@needs_ffmpeg
@pytest.mark.parametrize("subtype", ["FLOAT", "PCM_32"])
@pytest.mark.parametrize("suffix", ["wav", "rf64", "aiff"])
def test_samples_behind_the_stated_ones_that_look_like_chunks(tmp_path, suffix, subtype):
    """With a silent second channel, each sample of the first has four bytes of zeros behind it."""
    samples = tone(16000, 2)
    samples[:, 1] = 0
    path = make(tmp_path / f"a.{suffix}", samples, subtype)
    sign, offset, width, order = FIELDS[suffix]
    data = bytearray(path.read_bytes())
    at = data.find(sign) + offset
    stated = int.from_bytes(data[at : at + width], order) - 0x4000
    data[at : at + width] = stated.to_bytes(width, order)
    path.write_bytes(data)
    read, said = outcome(path)
    assert not read and "are not read" in said


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0x7FFFF000, ""),
        (0x7FFF0000, ""),
        (0xFFFFFFFF, ""),
        (0x80000000, "2147483648 bytes"),
        (0x7FFFFFD0, "2147483600 bytes"),
        (0x7FFE0000, "cut short"),
    ],
)
def test_a_wav_file_that_is_shorter_than_its_header_states(tmp_path, size, words):
    """Programs that write to a pipe state some of these sizes; those that split files at 2 GiB,
    others next to them."""
    path = make(tmp_path / "a.wav", tone(16000))
    data = bytearray(path.read_bytes())
    at = data.index(b"data") + 4
    data[at : at + 4] = size.to_bytes(4, "little")
    data[4:8] = min(size + 36, 0xFFFFFFFF).to_bytes(4, "little")
    path.write_bytes(data)
    said = outcome(path)[1]
    assert words in said and bool(said) == bool(words)


AU_SIZE = slice(8, 12)


@pytest.mark.parametrize("zeros", [0, 40_000])
@pytest.mark.parametrize("bit", [8, 13, 16, 18])
def test_an_au_file_of_a_pipe_that_begins_later(tmp_path, bit, zeros):
    """Its header states no size, and that the samples begin later."""
    sound = np.append(np.zeros(zeros), tone(240_000 - zeros)[:, 0])[:, np.newaxis]
    path = make(tmp_path / "a.au", sound)
    data = bytearray(path.read_bytes())
    data[AU_SIZE] = b"\xff" * 4
    path.write_bytes(data)
    assert outcome(path) == (240_000, "")
    data[4:8] = (int.from_bytes(data[4:8], "big") ^ 1 << bit).to_bytes(4, "big")
    path.write_bytes(data)
    read, said = outcome(path)
    few = zeros and 1 << bit <= 256  # bytes of silence
    assert (read, said) == (240_000 - (1 << bit) // 2, "") if few else "behind no text" in said


@pytest.mark.parametrize("text", ["ein Gr\u00fc\u00df".encode("latin-1"), b"a\tb\r\n" * 500, b""])
def test_an_au_file_with_a_text(tmp_path, text):
    path = make(tmp_path / "a.au", tone(16000))
    data = path.read_bytes()
    start = int.from_bytes(data[4:8], "big")
    text += bytes(200 - len(text) % 8)
    header = data[:4] + (24 + len(text)).to_bytes(4, "big") + data[8:24]
    path.write_bytes(header + text + data[start:])
    assert outcome(path) == (16000, "")


def test_a_flac_header_that_counts_less_behind_many_pictures(tmp_path, monkeypatch):
    """More metadata than are copied."""
    monkeypatch.setattr("qse.audio.flac_blocks.MOST_METADATA", 10)
    path = make(tmp_path / "a.flac", tone(16000))
    assert outcome(path) == (16000, "")
    path.write_bytes(halved(path.read_bytes(), "flac"))
    assert "more samples than its header counts" in outcome(path)[1]


@pytest.mark.parametrize("block", [4096, 4608])
def test_a_flac_header_that_counts_a_few_less(tmp_path, block):
    """Those are in the last frame, which begins before the end that the header states."""
    path = tmp_path / "a.flac"
    make(tmp_path / "a.wav", tone(64000))
    ffmpeg("-i", tmp_path / "a.wav", "-frame_size", str(block), path)
    assert outcome(path) == (64000, "")
    whole = path.read_bytes()
    for fewer in (1, 256, 1500):
        changed = whole[:22] + (64000 - fewer).to_bytes(4, "big") + whole[26:]
        path.write_bytes(changed)
        read, said = outcome(path)
        assert not read and "more samples than its header counts" in said
        read, said = outcome(path, salvage=True)
        assert read >= 64000 - fewer and said


@pytest.mark.parametrize(
    ("chunk", "field"),  # where the samples begin; channels
    [(b"SSND", b"\0\0\x02\0"), (b"SSND", b"\0\0\0\x80"), (b"COMM", b"\0\x42")],
)
def test_an_aiff_header_that_leaves_sound_out(tmp_path, chunk, field):
    path = make(tmp_path / "a.aiff", tone(64000))
    data = bytearray(path.read_bytes())
    at = data.find(chunk) + 8
    data[at : at + len(field)] = field
    path.write_bytes(data)
    read, said = outcome(path)
    assert not read and "more samples than can be read" in said
    read, said = outcome(path, salvage=True)
    assert read and said


@pytest.mark.parametrize("suffix", ["ogg", "opus"])
def test_ogg_streams_with_zeros_between(tmp_path, suffix):
    path = make(tmp_path / f"a.{suffix}", tone(16000))
    path.write_bytes(path.read_bytes() + bytes(64) + path.read_bytes())
    read, said = outcome(path)
    assert not read and "holds more than libsndfile reads of it" in said


@needs_ffmpeg
def test_a_short_mp3_behind_a_long_one(tmp_path):
    for name, length in (("a", 640_000), ("b", 16000)):
        make(tmp_path / f"{name}.wav", tone(length))
        ffmpeg("-i", tmp_path / f"{name}.wav", tmp_path / f"{name}.mp3")
    joined = tmp_path / "joined.mp3"
    joined.write_bytes(b"".join((tmp_path / f"{n}.mp3").read_bytes() for n in "ab"))
    read, said = outcome(joined)
    assert read >= 656_000 or said
    assert outcome(tmp_path / "a.mp3") == (640_000, "")


@pytest.mark.parametrize("damage", ["bit", "beginning", "first frame", "second frame"])
def test_an_mp3_whose_beginning_is_damaged(tmp_path, damage):
    """The frame that states the length is damaged, or is not the first one any more."""
    path = make(tmp_path / "a.mp3", tone(64000))
    whole = path.read_bytes()
    assert outcome(path)[1] == ""
    places = {"beginning": (0, 300), "first frame": (39, 139), "second frame": (500, 3500)}
    begin, end = places.get(damage, (0, 1))
    path.write_bytes(whole[:begin] + (b"\x7f" if damage == "bit" else b"") + whole[end:])
    read, said = outcome(path)
    assert not read or "damaged" in said
    assert "a.mp3" in said


@needs_ffmpeg
@pytest.mark.parametrize("rate", [8000, 16000, 22050, 44100])
def test_an_encoder_delay_of_ffmpeg_that_is_damaged(tmp_path, rate):
    """It leaves out as many samples, also of a part."""
    make(tmp_path / "a.wav", tone(3 * rate), sample_rate=rate)
    path = tmp_path / "a.mp3"
    ffmpeg("-i", tmp_path / "a.wav", "-b:a", "32k", path)
    assert outcome(path)[1] == ""
    whole = path.read_bytes()
    for place, bit in ((120 + 21, 0x80), (0, 2)):  # the delay, or the name of the header
        data = bytearray(whole)
        data[data.find(b"Info") + place] ^= bit
        path.write_bytes(data)
        assert "differs from its checksum" in outcome(path)[1]
        assert "differs from its checksum" in outcome(path, stop=rate)[1]


def test_a_short_mp3_of_variable_bit_rate_without_a_length(tmp_path):
    noise = np.random.default_rng(1).standard_normal(24000)
    time = np.arange(24000) / 16000
    sound = 0.3 * np.sin(2 * np.pi * (200 * time + 300 * time**2)) + 0.05 * noise
    path = make(tmp_path / "a.mp3", np.stack([sound, 0.5 * sound[::-1]], 1).astype(np.float32))
    whole = path.read_bytes()
    path.write_bytes(whole[whole.find(whole[:2], 4) :])  # without the frame that states it
    read, said = outcome(path)
    assert read >= 24000 or said


@pytest.fixture
def aac(tmp_path):
    make(tmp_path / "a.wav", tone(48000))
    ffmpeg("-i", tmp_path / "a.wav", tmp_path / "a.aac")
    return tmp_path / "a.aac"


@needs_ffmpeg
def test_aac_frames_that_are_damaged(aac):
    whole = aac.read_bytes()
    assert outcome(aac)[1] == ""
    rng = np.random.default_rng(0)
    for at in rng.integers(500, len(whole) - 500, 5):
        aac.write_bytes(whole[:at] + whole[at + 1 :])
        assert "bytes are no frames at" in outcome(aac)[1]
    aac.write_bytes(whole[:-7])
    assert "its last frame is cut" in outcome(aac)[1]


@needs_ffmpeg
@pytest.mark.parametrize("suffix", ["aac", "mp3"])
@pytest.mark.parametrize("form", [(48000, 1), (16000, 2)])
def test_another_rate_or_channels_in_the_middle(tmp_path, suffix, form):
    make(tmp_path / "a.wav", tone(16000))
    ffmpeg("-i", tmp_path / "a.wav", tmp_path / f"a.{suffix}")
    rate, channels = map(str, form)
    ffmpeg("-i", tmp_path / "a.wav", "-ar", rate, "-ac", channels, tmp_path / f"b.{suffix}")
    joined = tmp_path / f"joined.{suffix}"
    joined.write_bytes(b"".join((tmp_path / f"{n}.{suffix}").read_bytes() for n in "ab"))
    read, said = outcome(joined)
    assert not read and "sample rate or channels change at 1." in said


@needs_ffmpeg
@pytest.mark.parametrize("suffix", ["ac3", "mp2"])
@pytest.mark.parametrize("form", [(48000, 2), (32000, 1)])
def test_change_in_a_stream_of_ac3_or_mp2(tmp_path, suffix, form):
    """As in broadcasts; ffmpeg would put in silence, as long as all that comes before."""
    make(tmp_path / "a.wav", tone(32000))
    options = ("-ar", 48000, "-ac", 1)
    ffmpeg("-i", tmp_path / "a.wav", *options, tmp_path / f"a.{suffix}")
    assert outcome(tmp_path / f"a.{suffix}")[1] == ""
    ffmpeg("-i", tmp_path / "a.wav", "-ar", form[0], "-ac", form[1], tmp_path / f"b.{suffix}")
    joined = tmp_path / f"joined.{suffix}"
    joined.write_bytes(b"".join((tmp_path / f"{n}.{suffix}").read_bytes() for n in "ab"))
    for salvage in (False, True):
        read, said = outcome(joined, salvage=salvage)
        assert not read and "its channels or its sample rate change within it" in said

"""Chunks of WAV, RF64, W64, AIFF and CAF files come back byte by byte."""

import struct

import numpy as np
import pytest
import soundfile
from tagged_files import chunks, ffmpeg, needs_ffmpeg, needs_sox, sound, tags, wav, with_chunks

from qse.audio import chunks as chunk_module
from qse.audio.content import inspect
from qse.audio.wav import W64

BEXT = (
    b"a meeting".ljust(256, b"\0")
    + b"recorder".ljust(32, b"\0")
    + b"reference".ljust(32, b"\0")
    + b"2024-03-01"
    + b"12:34:56"
    + (4_800_000).to_bytes(8, "little")
    + (2).to_bytes(2, "little")
    + bytes(range(64))
    + struct.pack("<5h", -2300, 700, -100, -1800, -2000)
    + bytes(180)
    + b"A=PCM,F=16000,W=16\r\n"
)
CUE = struct.pack("<I", 1) + struct.pack("<II4sIII", 1, 8000, b"data", 0, 0, 8000)
LABELS = b"adtllabl" + struct.pack("<II", 10, 1) + b"label\0"
INFO = b"INFO" + b"INAM" + struct.pack("<I", 6) + "Tür".encode() + b"\0\0"
IXML = (
    b"<BWFXML><PROJECT>p</PROJECT>"
    b"<LOUDNESS><LOUDNESS_VALUE>-23</LOUDNESS_VALUE></LOUDNESS></BWFXML>"
)
BEFORE = [
    (b"bext", BEXT),
    (b"iXML", b"<BWFXML><NOTE>odd</NOTE></BWFXML>"),
    (b"axml", b"<ebuCoreMain/>"),
    (b"chna", bytes(4)),
    (b"JUNK", bytes(92)),
]
AFTER = [
    (b"cue ", CUE),
    (b"LIST", LABELS),
    (b"LIST", INFO),
    (b"smpl", bytes(36)),
    (b"id3 ", b"ID3\3\0\0\0\0\0\0"),
    (b"cart", b"c" * 2049),
    (b"xyz!", b""),
]
UNLOUD = BEXT[:412] + 5 * b"\xff\x7f" + BEXT[422:]
WIDTHS = {"PCM_16": 16, "PCM_24": 24, "FLOAT": 32, "PCM_U8": 8}


def line(width: int = 16) -> bytes:
    """Return what is added to the coding history of a mono file at 16 kHz."""
    return f"A=PCM,F=16000,W={width},M=mono,T=qse, noise removed\r\n".encode()


def kept(path) -> list[tuple[bytes, bytes]]:
    mine = (b"fmt ", b"fact", b"PEAK", b"COMM", b"FVER")
    return [each for each in chunks(path.read_bytes()) if each[0] not in mine]


@pytest.mark.parametrize(
    "subtype", ["PCM_16", "PCM_24", "FLOAT", "PCM_U8", "ULAW", "IMA_ADPCM", "MS_ADPCM"]
)
@pytest.mark.parametrize("samples", [16000, 15999])
def test_wav_chunks_come_back(here, command, subtype, samples):
    soundfile.write(here / "a.wav", sound()[:samples], 16000, subtype)
    with_chunks(here / "a.wav", BEFORE, AFTER)
    status, _, err = command("denoise", "a.wav")
    assert status == 0
    found = kept(here / "a-enhanced.wav")
    names = [name for name, _ in found]
    history = line(WIDTHS[subtype]) if subtype in WIDTHS else b""
    before = [(b"bext", UNLOUD + history), *BEFORE[1:4]]
    assert names[4] == b"data"
    assert [each for each in found if each[0] != b"data"] == [*before, *AFTER]
    assert "loudness in bext" in err and "does not hold" not in err
    info = soundfile.info(here / "a-enhanced.wav")
    assert info.subtype == subtype and info.frames == soundfile.info(here / "a.wav").frames


def test_wav_in_place_keeps_everything(here, command):
    wav(here / "a.wav")
    with_chunks(here / "a.wav", BEFORE[1:4], AFTER)
    before = chunks((here / "a.wav").read_bytes())
    assert command("denoise", "a.wav", "-o", "a.wav", "--overwrite")[0] == 0
    assert chunks((here / "a.wav").read_bytes()) == before


def test_wav_without_loudness_is_not_touched(here, command):
    quiet = BEXT[:346] + b"\1\0" + BEXT[348:412] + bytes(10) + BEXT[422:]
    with_chunks(wav(here / "a.wav"), [(b"bext", quiet), (b"iXML", IXML)], [(b"levl", bytes(120))])
    _, out, err = command("denoise", "a.wav", "--json")
    found = dict(kept(here / "a-enhanced.wav"))
    assert found[b"bext"] == quiet + line() and b"levl" not in found
    assert found[b"iXML"] == b"<BWFXML><PROJECT>p</PROJECT></BWFXML>"
    assert "levl (peak envelope)" in err and "loudness in iXML" in out


@pytest.mark.parametrize("suffix, form", [("rf64", "RF64"), ("w64", "W64")])
@pytest.mark.parametrize("to, form_of_other", [("rf64", "RF64"), ("w64", "W64")])
def test_long_formats_keep_chunks(here, command, suffix, form, to, form_of_other):
    with_chunks(wav(here / "a.wav"), BEFORE[1:], AFTER[:-1])
    assert command("denoise", "a.wav", "-o", f"b.{suffix}")[0] == 0
    assert command("denoise", f"b.{suffix}", "-o", f"c.{to}")[0] == 0
    for name, expected in ((f"b.{suffix}", form), (f"c.{to}", form_of_other)):
        container = inspect(here / name).container
        held = [(chunk.name, container.body(chunk)) for chunk in container.chunks]
        assert sorted(each for each in held if each in BEFORE + AFTER) == sorted(
            BEFORE[1:4] + AFTER[:-1]
        )
        info = soundfile.info(here / name)
        assert (info.format, info.frames) == (expected, 16000)
    np.testing.assert_array_equal(soundfile.read(f"c.{to}")[0], soundfile.read("a.wav")[0])


@pytest.mark.parametrize("samples", [153, 154, 155, 156])
def test_w64_has_no_padding_behind_its_samples(here, command, samples):
    soundfile.write(here / "a.w64", sound()[:samples], 16000, format="W64")
    assert command("denoise", "a.w64")[0] == 0
    assert soundfile.info("a-enhanced.w64").frames == soundfile.info("a.w64").frames == samples


@pytest.mark.parametrize("subtype", ["PCM_16", "PCM_24", "FLOAT"])
def test_w64_ends_where_its_samples_end(here, command, subtype):
    """libsndfile takes a chunk behind them for samples."""
    soundfile.write(here / "a.w64", sound(), 16000, subtype, format="W64")
    data = bytearray((here / "a.w64").read_bytes())
    data += W64.write(b"cue ", CUE)
    data[16:24] = len(data).to_bytes(8, "little")
    (here / "a.w64").write_bytes(data)
    assert soundfile.info("a.w64").frames > 16000
    assert command("denoise", "a.w64")[0] == 0
    assert soundfile.info("a-enhanced.w64").frames == 16000
    container = inspect(here / "a-enhanced.w64").container
    assert container.body(container.find(b"cue ")) == CUE


@needs_ffmpeg
@pytest.mark.parametrize("suffix", ["rf64", "w64"])
def test_long_formats_are_read_by_ffmpeg(here, command, suffix):
    with_chunks(wav(here / "a.wav"), BEFORE, AFTER[:-1])
    assert command("denoise", "a.wav", "-o", f"b.{suffix}")[0] == 0
    decoded = np.frombuffer(ffmpeg("-i", f"b.{suffix}", "-f", "s16le", "-"), np.int16)
    np.testing.assert_array_equal(decoded, soundfile.read("a.wav", dtype="int16")[0])


@needs_ffmpeg
def test_time_reference_is_read_by_ffprobe(here, command):
    with_chunks(wav(here / "a.wav"), BEFORE, AFTER)
    command("denoise", "a.wav")
    found = tags(here / "a-enhanced.wav")
    assert (found["time_reference"], found["originator_reference"]) == ("4800000", "reference")


@pytest.mark.parametrize("suffix", ["aiff", "aifc"])
def test_aiff_chunks_come_back(here, command, suffix):
    soundfile.write(here / f"a.{suffix}", sound(), 16000, "PCM_16", format="AIFF")
    marks = struct.pack(">HHI", 1, 1, 8000) + b"\4mark\0"
    before = [(b"NAME", b"a name"), (b"AUTH", b"me"), (b"MARK", marks), (b"INST", bytes(20))]
    after = [
        (b"ANNO", b"odd"),
        (b"xyz!", b"odd"),
        (b"COMT", bytes(10)),
        (b"APPL", b"stocxyz"),
        (b"ID3 ", b"not a tag"),
    ]
    with_chunks(here / f"a.{suffix}", before, after)
    assert command("denoise", f"a.{suffix}")[0] == 0
    found = [each for each in kept(here / f"a-enhanced.{suffix}") if each[0] != b"SSND"]
    assert found == before + after
    np.testing.assert_array_equal(
        soundfile.read(f"a-enhanced.{suffix}")[0], soundfile.read(f"a.{suffix}")[0]
    )


@pytest.mark.parametrize("subtype", ["PCM_16", "ALAC_24"])
def test_caf_chunks_come_back(here, command, subtype):
    soundfile.write(here / "a.caf", sound(), 16000, subtype)
    data = (here / "a.caf").read_bytes()
    strings = (1).to_bytes(4, "big") + b"title\0a title\0"
    bodies = {b"info": strings, b"umid": bytes(range(64)), b"strg": bytes(4), b"mark": bytes(8)}
    bodies |= {b"regn": bytes(8), b"xyz!": b"odd"}
    extra = b"".join(name + len(body).to_bytes(8, "big") + body for name, body in bodies.items())
    at = data.index(b"data")
    (here / "a.caf").write_bytes(data[:at] + extra + data[at:])
    assert command("denoise", "a.caf")[0] == 0
    assert extra in (here / "a-enhanced.caf").read_bytes()
    info = soundfile.info("a-enhanced.caf")
    assert (info.subtype, info.frames) == (subtype, 16000)
    np.testing.assert_allclose(
        soundfile.read("a-enhanced.caf")[0], soundfile.read("a.caf")[0], atol=2**-15
    )


def test_wav_longer_than_its_header_can_say_is_refused(here, command, monkeypatch):
    with_chunks(wav(here / "a.wav"), [], [(b"cart", bytes(5000))])
    monkeypatch.setattr(chunk_module, "LONGEST", 35000)
    status, _, err = command("denoise", "a.wav")
    assert (
        status == 1 and "a WAV file cannot be so long with its metadata; name a .rf64 file" in err
    )
    assert sorted(path.name for path in here.iterdir()) == ["a.wav"]


@needs_sox
def test_sox_reads_the_result(here, command):
    import subprocess

    with_chunks(wav(here / "a.wav"), BEFORE, AFTER)
    command("denoise", "a.wav")
    raw = [
        subprocess.run(["sox", name, "-t", "s16", "-"], check=True, capture_output=True).stdout
        for name in ("a.wav", "a-enhanced.wav")
    ]
    assert raw[0] == raw[1]


def test_chunk_names_are_readable(here):
    with_chunks(wav(here / "a.wav"), BEFORE, [*AFTER, (b"\1\2\3\4", b"")])
    assert inspect(here / "a.wav").names() == [
        *("bext", "iXML", "axml", "chna", "cue", "adtl", "INFO", "smpl", "id3", "cart", "xyz!"),
        "an unknown chunk",
    ]
    (here / "b.txt").write_text("words")
    assert inspect(here / "b.txt").names() == []


def test_big_endian_numbers_of_rifx(here, command):
    """The loudness of bext is marked as not used in the byte order of the file."""
    soundfile.write(here / "a.wav", sound(), 16000, endian="BIG", format="WAV")
    bext = bytearray(BEXT)
    bext[346:348] = (2).to_bytes(2, "big")
    with_chunks(here / "a.wav", [(b"bext", bytes(bext))])
    assert (here / "a.wav").read_bytes()[:4] == b"RIFX"
    status, _, err = command("denoise", "a.wav")
    assert status == 0 and "loudness in bext" in err
    held = dict(kept(here / "a-enhanced.wav"))[b"bext"]
    assert held[412:422] == struct.pack(">5h", *5 * [0x7FFF])
    assert held[:412] == bext[:412] and held[422:] == bext[422:] + line()


def test_the_coding_history_gets_a_line_behind_what_fills_it(here, command):
    """As EBU R98 writes it; a program may have filled the chunk with zeros."""
    stereo = np.hstack([sound(), 0.5 * sound()])
    soundfile.write(here / "a.wav", stereo, 48000, "PCM_24")
    with_chunks(here / "a.wav", [(b"bext", BEXT[:602] + b"A=ANALOGUE" + bytes(100))])
    assert command("denoise", "a.wav")[0] == 0
    lines = dict(kept(here / "a-enhanced.wav"))[b"bext"][602:].split(b"\r\n")
    expected = b"A=PCM,F=48000,W=24,M=stereo,T=qse, noise removed"
    assert lines == [b"A=ANALOGUE", expected, b""]


def test_samples_of_an_unfinished_file_are_no_chunks(here, command):
    """The samples behind a data chunk of size 0 came back as an unknown chunk."""
    with_chunks(wav(here / "a.wav"), BEFORE[:2])
    data = bytearray((here / "a.wav").read_bytes())
    at = data.index(b"data")
    data[at + 4 : at + 8] = bytes(4)
    (here / "a.wav").write_bytes(data)
    status, _, err = command("denoise", "a.wav", "--salvage")
    assert status == 0 and "unknown chunk" not in err
    found = kept(here / "a-enhanced.wav")
    assert [name for name, _ in found] == [b"bext", b"iXML", b"data"]
    assert len(found[2][1]) == 2 * 16000


def test_a_chunk_that_the_end_cuts_is_named_as_lost(here, command):
    """It came back shortened, without a word."""
    with_chunks(wav(here / "a.wav"), BEFORE[:1], [(b"cue ", CUE), (b"cart", b"c" * 2048)])
    data = (here / "a.wav").read_bytes()[:-1000]
    (here / "a.wav").write_bytes(data[:4] + (len(data) - 8).to_bytes(4, "little") + data[8:])
    status, _, err = command("denoise", "a.wav")
    assert status == 0 and "does not hold these metadata of a.wav: cart" in err
    assert [name for name, _ in kept(here / "a-enhanced.wav")] == [b"bext", b"data", b"cue "]


def test_chunks_behind_one_without_padding_come_back(here, command):
    """Chunks of odd length that lack it end the list: what followed was lost, without a word."""
    with_chunks(wav(here / "a.wav"), [], [(b"iXML", b"<BWFXML></BWFXML>"), (b"cue ", CUE)])
    data = (here / "a.wav").read_bytes()
    at = data.index(b"cue ")
    data = data[: at - 1] + data[at:]
    (here / "a.wav").write_bytes(data[:4] + (len(data) - 8).to_bytes(4, "little") + data[8:])
    status, _, err = command("denoise", "a.wav")
    assert status == 0 and "does not hold" not in err
    held = kept(here / "a-enhanced.wav")
    assert [name for name, _ in held] == [b"data", b"iXML", b"cue "] and held[2][1] == CUE


def test_chunks_of_another_byte_order_are_named_as_lost(here, command):
    """The numbers in them would mean something else in RF64."""
    soundfile.write(here / "a.wav", sound(), 16000, endian="BIG", format="WAV")
    with_chunks(here / "a.wav", [(b"cue ", CUE)])
    status, _, err = command("denoise", "a.wav", "-o", "b.rf64")
    assert status == 0 and "b.rf64 does not hold these metadata of a.wav: all chunks" in err
    assert b"cue " not in (here / "b.rf64").read_bytes()


def test_a_size_beyond_every_offset_is_no_traceback(here, command):
    """No place behind such a chunk can be read."""
    soundfile.write(here / "a.w64", np.zeros(16000) + 0.1, 16000, "PCM_16")
    data = bytearray((here / "a.w64").read_bytes())
    at = data.index(b"fmt ") + 16
    data[at : at + 8] = (2**63 + 101).to_bytes(8, "little")
    (here / "a.w64").write_bytes(data)
    status, _, err = command("denoise", "a.w64")
    assert status == 1 and "a.w64" in err and "Traceback" not in err

"""Markers go between WAV, AIFF and CAF; libsndfile and the chunks themselves are the judges."""

import json
import struct

import pytest
import soundfile
from tagged_files import chunks, needs_ffmpeg, sound, wav, with_chunks

PLACES = [4000, 12000]
NAMES = ["Anfang", "Lärm"]


def marked(here):
    """A WAV file with two markers."""
    cue = struct.pack("<I", 2)
    labels = b"adtl"
    for number, (place, name) in enumerate(zip(PLACES, NAMES, strict=True), 1):
        cue += struct.pack("<II4sIII", number, place, b"data", 0, 0, place)
        text = name.encode() + b"\0"
        labels += b"labl" + struct.pack("<II", 4 + len(text), number) + text + bytes(len(text) % 2)
    return with_chunks(wav(here / "a.wav"), [], [(b"cue ", cue), (b"LIST", labels)])


@needs_ffmpeg
@pytest.mark.parametrize(
    "way", [["aiff"], ["caf"], ["aiff", "caf"], ["caf", "aiff"], ["w64", "caf"]]
)
def test_markers_come_back_by_other_formats(here, command, way):
    before = dict(chunks(marked(here).read_bytes()))
    path = "a.wav"
    for number, to in enumerate([*way, "wav"]):
        target = f"{number}.{to}"
        status, out, err = command("denoise", path, "-o", target, "--json")
        assert status == 0, err
        assert json.loads(out)["lost"] == []
        assert soundfile.info(here / target).frames == 16000
        path = target
    after = dict(chunks((here / path).read_bytes()))
    assert after[b"cue "] == before[b"cue "] and after[b"LIST"] == before[b"LIST"]


@needs_ffmpeg
def test_libsndfile_reads_the_markers_of_aiff_where_they_are(here, command):
    marked(here)
    assert command("denoise", "a.wav", "-o", "b.aiff")[0] == 0
    body = dict(chunks((here / "b.aiff").read_bytes()))[b"MARK"]
    assert struct.unpack_from(">HHIB", body) == (2, 1, 4000, 6) and body[9:15] == b"Anfang"
    with soundfile.SoundFile(here / "b.aiff") as file:
        assert "MARK" in file.extra_info and "4000" in file.extra_info


@needs_ffmpeg
def test_notes_that_another_format_cannot_hold_are_said(here, command):
    cue = struct.pack("<I", 1) + struct.pack("<II4sIII", 1, 4000, b"data", 0, 0, 4000)
    note = b"adtlnote" + struct.pack("<II", 6, 1) + b"x\0"
    with_chunks(wav(here / "a.wav"), [(b"cue ", cue), (b"LIST", note)])
    _, out, _ = command("denoise", "a.wav", "-o", "b.aiff", "--json")
    assert json.loads(out)["lost"] == ["adtl"]
    _, out, _ = command("denoise", "a.wav", "-o", "b.flac", "--json")
    assert json.loads(out)["lost"] == ["chapters", "cue", "adtl"]


@needs_ffmpeg
@pytest.mark.parametrize("body", [b"", b"\xff\xff\xff\xff"])
def test_damaged_markers_are_lost_and_said(here, command, body):
    with_chunks(wav(here / "a.wav"), [(b"cue ", body)])
    _, out, _ = command("denoise", "a.wav", "-o", "b.aiff", "--json")
    assert json.loads(out)["lost"] == ["cue"]
    assert soundfile.info(here / "b.aiff").frames == 16000


@needs_ffmpeg
@pytest.mark.parametrize("place", [float("inf"), float("nan"), -1.0, 1e300])
def test_markers_of_caf_at_impossible_places_are_lost_and_said(here, command, place):
    soundfile.write(here / "a.caf", sound(), 16000, "PCM_16")
    body = struct.pack(">II", 0, 1) + struct.pack(">IdI8sI", 0, place, 1, bytes(8), 0)
    data = (here / "a.caf").read_bytes()
    (here / "a.caf").write_bytes(data + b"mark" + len(body).to_bytes(8, "big") + body)
    status, out, err = command("denoise", "a.caf", "-o", "b.wav", "--json")
    assert status == 0, err
    assert json.loads(out)["lost"] == ["mark"]


def sharing(here, size: int):
    """A WAV file of 4,096 markers with one name."""
    cue = struct.pack("<I", 4096)
    for number in range(4096):
        cue += struct.pack("<II4sIII", 1, number, b"data", 0, 0, number)
    label = b"adtllabl" + struct.pack("<II", 4 + size, 1) + b"A" * (size - 2) + b"\0\0"
    return with_chunks(wav(here / "a.wav"), [], [(b"cue ", cue), (b"LIST", label)])


@needs_ffmpeg
def test_one_name_for_many_markers_does_not_make_a_file_grow(here, command):
    """A file of 200 kB became one of 400 MB, with 1.3 GB of memory."""
    sharing(here, 2000)
    _, out, _ = command("denoise", "a.wav", "-o", "b.caf", "--json")
    assert set(json.loads(out)["lost"]) >= {"cue", "adtl"}
    assert (here / "b.caf").stat().st_size < 100_000
    sharing(here, 200)
    _, out, _ = command("denoise", "a.wav", "-o", "c.caf", "--json")
    assert "cue" not in json.loads(out)["lost"]


@needs_ffmpeg
def test_names_that_lie_in_each_other_are_lost_and_said(here, command):
    marks = struct.pack(">II", 0, 4096)
    names = struct.pack(">I", 4096)
    for number in range(4096):
        marks += struct.pack(">IdI8sI", 0, float(number), number, b"\xff" * 8, 0)
        names += struct.pack(">Iq", number, number)
    soundfile.write(here / "a.caf", sound(), 16000, format="CAF")
    head, _, data = (here / "a.caf").read_bytes().partition(b"data")
    for name, body in ((b"mark", marks), (b"strg", names + b"A" * 10_000)):
        head += name + struct.pack(">q", len(body)) + body
    (here / "a.caf").write_bytes(head + b"data" + data)
    _, out, _ = command("denoise", "a.caf", "-o", "b.wav", "--json")
    assert set(json.loads(out)["lost"]) >= {"mark", "strg"}
    assert (here / "b.wav").stat().st_size < 100_000

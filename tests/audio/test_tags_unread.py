"""Tags and chapters that ffmpeg does not read are named as lost; mutagen and mkvmerge write
them."""

import shutil
import struct
import subprocess

import pytest
from tagged_files import ffmpeg, needs_ffmpeg, wav, with_chunks

from qse.audio.matroska_names import unread_names
from qse.audio.tag_texts import recoded_options

mutagen = pytest.importorskip("mutagen")
from mutagen import apev2, asf, flac, id3, mp4, oggopus

pytestmark = needs_ffmpeg
XML = '<?xml version="1.0"?>'
START = "<ChapterTimeStart>00:00:00.{}00</ChapterTimeStart>"
INNER = f"<ChapterAtom>{START.format(2)}</ChapterAtom>"
OUTER = f"<ChapterAtom>{START.format(0)}{INNER}</ChapterAtom>"
NESTED = f"{XML}<Chapters><EditionEntry>{OUTER}</EditionEntry></Chapters>"
ARTIST = "<Simple><Name>ARTIST</Name><String>{}</String></Simple>"
ARTISTS = f"{XML}<Tags><Tag><Targets/>{ARTIST.format('A')}{ARTIST.format('B')}</Tag></Tags>"
TITLE = "Café Ü"  # é and Ü are no UTF-8 in Latin-1
READ_BY = {
    "b.flac": lambda path: flac.FLAC(path)["title"],
    "b.opus": lambda path: oggopus.OggOpus(path)["title"],
    "b.m4a": lambda path: mp4.MP4(path)["\xa9nam"],
    "b.wv": lambda path: list(apev2.APEv2(path)["title"]),
}


def lost(command, source: str, target: str) -> str:
    status, _, said = command("denoise", source, "-o", target, "--overwrite")
    assert status == 0
    return said.partition("does not hold these metadata of")[2]


def tagged(here, name: str, kind, **items):
    """Give a second of sound tags of a kind of mutagen."""
    ffmpeg("-i", wav(here / "s.wav", sample_rate=48000), name)
    made = kind()
    for key, value in items.items():
        made[key] = value
    made.save(here / name)


def test_ape_of_mp3(here, command):
    """Other names of what ffmpeg reads as ID3 are not lost."""
    tagged(here, "a.mp3", apev2.APEv2, Title="a title", Conductor="someone", Artist=["A", "B"])
    made = id3.ID3()
    made.add(id3.TIT2(text="a title"))
    made.save(here / "a.mp3")
    for target in ("b.flac", "b.m4a", "b.wav"):
        said = lost(command, "a.mp3", target)
        assert "Conductor" in said and "Artist" in said and "Title" not in said
    assert lost(command, "a.mp3", "b.mp3") == ""


@pytest.mark.parametrize("target", ["b.flac", "b.mp3", "b.wav", "b.mka"])
def test_items_of_m4a(here, command, target):
    ffmpeg("-i", wav(here / "s.wav"), "-metadata", "title=a title", "a.m4a")
    file = mp4.MP4(here / "a.m4a")
    file["\xa9ART"] = ["A", "B"]
    file["\xa9wrk"] = ["a work"]
    file["tmpo"] = [120]
    file["trkn"] = [(3, 9)]
    file["----:com.apple.iTunes:MINE"] = [b"mine"]
    file.save()
    said = lost(command, "a.m4a", target)
    assert "\xa9wrk" in said and "tmpo" in said and "several values of \xa9ART" in said
    assert "nam" not in said and "trkn" not in said and "too" not in said
    assert lost(command, "a.m4a", "c.m4a") == ""


@pytest.mark.parametrize("target", ["b.flac", "b.wv"])
def test_values_of_wavpack(here, command, target):
    tagged(here, "a.wv", apev2.APEv2, Artist=["A", "B"], Album="one")
    assert "several values of Artist\n" in lost(command, "a.wv", target)


@pytest.mark.parametrize("suffix", ["wv", "tta"])
def test_tags_that_are_too_large(here, command, suffix):
    """As of a picture of 40 MB."""
    large = apev2.APEValue(bytes(40 << 20), apev2.BINARY)
    tagged(here, f"a.{suffix}", apev2.APEv2, Cover=large)
    status, _, said = command("denoise", f"a.{suffix}", "-o", f"b.{suffix}", "--salvage")
    assert status == 0 and "tags of more than 32 MiB" in said


def test_two_tags_of_tta(here, command):
    tagged(here, "a.tta", apev2.APEv2, Artist=["A", "B"])
    made = id3.ID3()
    made.add(id3.TIT2(text="a title"))
    made.save(here / "a.tta")
    said = lost(command, "a.tta", "b.tta")
    assert "TIT2" in said and "several values of Artist" in said


def test_values_of_wma(here, command):
    ffmpeg("-i", wav(here / "s.wav", sample_rate=44100), "-metadata", "title=one", "a.wma")
    file = asf.ASF(here / "a.wma")
    file["Author"] = ["A", "B"]
    file["WM/Genre"] = ["C", "D"]
    file.save()
    said = lost(command, "a.wma", "b.flac")
    assert "several values of Author" in said and "several values of WM/Genre" in said
    assert "Title" not in said


def element(number: int, *parts: bytes) -> bytes:
    body = b"".join(parts)
    size = (1 << 28 | len(body)).to_bytes(4, "big")
    return number.to_bytes((number.bit_length() + 7) // 8, "big") + size + body


def test_names_of_matroska(tmp_path):
    """Of a file of a few elements (RFC 9559)."""
    simple = [element(0x67C8, element(0x45A3, name)) for name in (b"ARTIST", b"DATE", b"ARTIST")]
    other = element(0x67C8, element(0x45A3, b"DATE"))
    tags = element(0x1254C367, element(0x7373, *simple), element(0x7373, other))
    shown = [element(0x80, element(0x85, name)) for name in (b"one", b"eins")]
    nested = element(0xB6, element(0xB6), *shown)
    chapters = element(0x1043A770, element(0x45B9, nested), element(0x45B9, element(0xB6)))
    cluster = element(0x1F43B675, bytes(100))
    path = tmp_path / "a.mka"
    path.write_bytes(element(0x1A45DFA3) + element(0x18538067, cluster, chapters, tags))
    beside, repeated = unread_names(path)
    assert repeated == ["ARTIST"]
    assert beside == [
        "further editions of chapters",
        "nested chapters",
        "chapter names in other languages",
    ]


@pytest.mark.skipif(shutil.which("mkvmerge") is None, reason="needs mkvmerge")
def test_nested_chapters_and_repeated_tags_of_mkvmerge(here, command):
    (here / "chapters.xml").write_text(NESTED)
    (here / "tags.xml").write_text(ARTISTS)
    given = ("--chapters", "chapters.xml", "--global-tags", "tags.xml")
    wav(here / "s.wav")
    subprocess.run(["mkvmerge", "-q", "-o", "a.mka", *given, "s.wav"], check=True, cwd=here)
    said = lost(command, "a.mka", "b.mka")
    assert "nested chapters" in said and "several values of ARTIST" in said


def test_web_subtitles_are_no_damage(here, command):
    (here / "s.vtt").write_text("WEBVTT\n\n00:00.000 --> 00:01.000\nhello\n")
    picture = ("-f", "lavfi", "-i", "color=s=64x64:r=10:d=1")
    ffmpeg(*picture, "-i", wav(here / "s.wav"), "-i", "s.vtt", "-c:v", "libvpx", "a.webm")
    assert "subtitles" in lost(command, "a.webm", "b.wav")


def test_flac_behind_a_long_id3_tag(here, command):
    """libsndfile finds no place near its end."""
    ffmpeg("-f", "lavfi", "-i", "anoisesrc=d=3:r=44100", "a.flac")
    made = id3.ID3()
    made.add(id3.TXXX(desc="words", text="words " * 500))
    made.save(here / "a.flac")
    assert lost(command, "a.flac", "b.flac") == ""


def id3v1(**fields: bytes) -> bytes:
    lengths = {"title": 30, "artist": 30, "album": 30, "year": 4, "comment": 30}
    texts = (fields.get(name, b"").ljust(length, b"\0") for name, length in lengths.items())
    return b"".join([b"TAG", *texts, b"\xff"])


@pytest.mark.parametrize("target", list(READ_BY))
@pytest.mark.parametrize("source", ["a.mp3", "a.wav"])
def test_texts_that_are_not_utf_8(here, command, source, target):
    text = TITLE.encode("latin-1")
    if source == "a.wav":
        entry = b"INAM" + struct.pack("<I", len(text)) + text
        with_chunks(wav(here / source), [(b"LIST", b"INFO" + entry)])
    else:
        ffmpeg("-i", wav(here / "s.wav"), "-id3v2_version", "0", "-write_xing", "0", "bare.mp3")
        (here / source).write_bytes((here / "bare.mp3").read_bytes() + id3v1(title=text))
    assert lost(command, source, target) == ""
    assert READ_BY[target](here / target) == [TITLE]


def test_id3v1_behind_other_tags(here, command):
    """Its texts that other tags hold, also longer or in UTF-8 cut to 30 bytes, are not lost."""
    long = "ü" * 40
    ffmpeg("-i", wav(here / "s.wav"), "-metadata", f"title={long}", "bare.mp3")
    tag = id3v1(title=long.encode()[:30], artist="Jürgen".encode("latin-1"))
    (here / "a.mp3").write_bytes((here / "bare.mp3").read_bytes() + tag)
    for target in ("b.flac", "b.m4a"):
        assert lost(command, "a.mp3", target).startswith(" a.mp3: artist of ID3v1\n")
    assert lost(command, "a.mp3", "b.mp3") == ""


def test_items_of_m4a_that_are_not_utf_8(here, command):
    """They are read, and were named as lost."""
    ffmpeg("-i", wav(here / "s.wav"), "-metadata", "title=Caf--", "a.m4a")
    data = (here / "a.m4a").read_bytes()
    (here / "a.m4a").write_bytes(data.replace(b"Caf--", "Café!".encode("latin-1")))
    assert lost(command, "a.m4a", "b.flac") == ""
    assert flac.FLAC(here / "b.flac")["title"] == ["Café!"]


def test_many_long_texts_that_are_not_utf_8():
    """A command line has a limit for all of its words together."""
    options = recoded_options({str(number): 10_000 * "é" for number in range(300)})
    assert len(options) == 600 and len("".join(options)) < 100_000

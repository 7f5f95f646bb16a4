"""Metadata between formats: what the target can hold is there, what it cannot is named."""

import base64
import json
import os

import pytest
import soundfile
from tagged_files import (
    CHAPTERS,
    TAGS,
    chapters,
    cover,
    ffmpeg,
    needs_ffmpeg,
    probed,
    sound,
    tags,
    tags_of,
    wav,
    with_chunks,
)

from qse.audio import ffmpeg_input

KEPT = ("title", "artist", "album", "date", "comment")
SOURCES = ("flac", "opus", "wav")
HOLDS_CHAPTERS = ("mp3", "ogg", "opus", "m4a", "mka", "aiff")
HOLDS_COVER = ("flac", "mp3", "aiff", "m4a", "mka")
COMMENTS = {"flac", "ogg", "opus"}  # between which comments and covers are copied as they are
HOLDS_TAGS = {  # of TAGS
    **dict.fromkeys(("flac", "mp3", "ogg", "opus", "wav", "rf64", "w64", "mka", "caf"), KEPT),
    **{"m4a": KEPT, "aiff": KEPT, "au": (), "voc": (), "sph": ()},
}


def rich(here, suffix: str):
    """A file with tags, two chapters, a cover and a gain, as far as its format holds them."""
    (here / "chapters").write_text(CHAPTERS)
    soundfile.write(here / "s.wav", sound(1.0, 2, 48000), 48000)
    inputs = ["-i", "s.wav", "-i", "chapters", "-i", cover(here / "c.png")]
    maps = [
        "-map",
        "0:a",
        "-map_chapters",
        1,
        *tags_of("-metadata"),
        "-metadata",
        "replaygain_track_gain=-3 dB",
    ]
    if suffix in ("flac", "mp3", "m4a"):
        maps += ["-map", "2:v", "-c:v", "copy", "-disposition:v", "attached_pic"]
    ffmpeg(*inputs, *maps, f"a.{suffix}")
    return here / f"a.{suffix}"


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """One rich file of each format."""
    folder = tmp_path_factory.mktemp("rich")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return {suffix: rich(folder, suffix) for suffix in SOURCES}


def covers(path) -> int:
    return sum(stream["disposition"].get("attached_pic", 0) for stream in probed(path)["streams"])


@needs_ffmpeg
@pytest.mark.parametrize("to", list(HOLDS_TAGS))
@pytest.mark.parametrize("suffix", SOURCES)
def test_every_format_to_every_other(here, command, sources, suffix, to):
    source = sources[suffix]
    status, out, err = command("denoise", source, "-o", f"b.{to}", "--json", "--model", "live-base")
    assert status == 0, err
    lost = json.loads(out)["lost"]
    result = here / f"b.{to}"
    named = {name.lower() for name in lost}
    before = tags(source)
    after = tags(result)
    for name in set(TAGS) & set(before):
        held = name in HOLDS_TAGS[to]
        assert (name in named) != held
        if to != "w64":  # in which ffprobe does not look for tags
            assert (after.get(name) == before[name]) == held
    if chapters(source):
        held = to in HOLDS_CHAPTERS or {suffix, to} <= COMMENTS
        assert (chapters(result) == chapters(source)) == held and ("chapters" in named) != held
    if covers(source):
        assert covers(result) == int(to in HOLDS_COVER or {suffix, to} <= COMMENTS)
        assert ("cover" in named) != bool(covers(result))
    if "replaygain_track_gain" in before:
        assert "replaygain_track_gain" in named and "replaygain_track_gain" not in after
    for name in lost:
        assert name in err


@needs_ffmpeg
def test_chunks_without_a_counterpart_are_named(here, command):
    with_chunks(
        wav(here / "a.wav"), [(b"iXML", b"<BWFXML/>")], [(b"cue ", bytes(4)), (b"smpl", bytes(36))]
    )
    _, out, err = command("denoise", "a.wav", "-o", "b.flac", "--json")
    assert json.loads(out)["lost"] == ["iXML", "cue", "smpl"]
    assert "qse: warning: b.flac does not hold these metadata of a.wav: iXML, cue, smpl" in err
    assert json.loads(out)["warning"] in err


@needs_ffmpeg
def test_fields_of_bext_are_mapped_or_named(here, command):
    """Check that the originator, which ffmpeg calls encoded_by, is not lost without a word, and
    that a coding history with a line end is not named as lost."""
    bext = b"a meeting".ljust(256, b"\0") + b"recorder".ljust(32, b"\0") + bytes(314)
    with_chunks(wav(here / "a.wav"), [(b"bext", bext + b"A=PCM,F=16000\r\n")])
    _, out, _ = command("denoise", "a.wav", "-o", "b.flac", "--json")
    assert json.loads(out)["lost"] == []
    assert tags(here / "b.flac")["coding_history"].strip() == "A=PCM,F=16000"
    _, out, _ = command("denoise", "a.wav", "-o", "b.m4a", "--json")
    assert {"encoded_by", "coding_history"} <= set(json.loads(out)["lost"])


@needs_ffmpeg
def test_id3_beside_other_tags_of_wav_is_named(here, command):
    """ffmpeg reads either, before version 7; the tags of ID3 were lost without a word."""
    id3 = pytest.importorskip("mutagen.id3")
    tag = id3.ID3()
    tag.add(id3.TPE1(encoding=3, text="someone"))
    tag.save(here / "tag")
    chunk = (b"id3 ", (here / "tag").read_bytes())
    info = (b"LIST", b"INFOINAM\2\0\0\0x\0")
    for before, lost in (([chunk], []), ([info, chunk], ["id3"])):
        with_chunks(wav(here / "a.wav"), before)
        _, out, _ = command("denoise", "a.wav", "-o", "b.flac", "--json", "--overwrite")
        assert json.loads(out)["lost"] == lost
        assert lost or "artist" in tags(here / "b.flac")


@needs_ffmpeg
def test_mapping_keeps_the_number_of_samples_in_the_header(here, command):
    """The fact chunk said 0."""
    soundfile.write(here / "s.wav", sound(), 16000)
    ffmpeg("-i", "s.wav", "-metadata", "title=x", "-c:a", "pcm_f32be", "a.caf")
    assert command("denoise", "a.caf", "-o", "b.wav")[0] == 0
    data = (here / "b.wav").read_bytes()
    at = data.index(b"fact") + 8
    assert int.from_bytes(data[at : at + 4], "little") == 16000 and tags(here / "b.wav")


@needs_ffmpeg
def test_samples_are_not_touched_by_mapping(here, command):
    for suffix in ("flac", "mp3", "ogg", "aiff"):
        source = rich(here, "m4a")
        assert command("denoise", source.name, "-o", f"b.{suffix}", "--model", "live-base")[0] == 0
        plain = here / "plain.wav"
        ffmpeg(
            "-i",
            source,
            "-map_metadata",
            -1,
            "-vn",
            "-map_chapters",
            -1,
            "-c:a",
            "pcm_f32le",
            plain,
        )
        assert (
            command("denoise", plain.name, "-o", f"c.{suffix}", "--overwrite", "--bit-rate", 128)[0]
            == 0
        )
        assert abs(soundfile.info(f"b.{suffix}").frames - soundfile.info(f"c.{suffix}").frames) == 0


def test_without_ffmpeg_strings_are_mapped_and_the_rest_is_named(here, command, monkeypatch):
    monkeypatch.setattr(ffmpeg_input.shutil, "which", lambda name: None)
    mutagen = pytest.importorskip("mutagen")
    soundfile.write(here / "a.flac", sound(), 16000)
    file = mutagen.File(here / "a.flac")
    file["title"] = "Müller"
    file["isrc"] = "DE1"
    file["artist"] = ["one"]
    file.save()
    _, out, _ = command("denoise", "a.flac", "-o", "b.ogg", "--json")
    assert json.loads(out)["lost"] == []  # comments are copied as they are
    file = mutagen.File(here / "b.ogg")
    assert file["title"] == ["Müller"] and file["isrc"] == ["DE1"]
    _, out, _ = command("denoise", "a.flac", "-o", "c.aiff", "--json")
    assert json.loads(out)["lost"] == ["ISRC"]
    assert soundfile.SoundFile("c.aiff").title == "Müller"


@needs_ffmpeg
def test_hostile_names_stay_one_line(here, command):
    mutagen = pytest.importorskip("mutagen")
    soundfile.write(here / "a.flac", sound(), 16000)
    file = mutagen.File(here / "a.flac")
    for number in range(300):
        file[f"odd key {number}"] = "\n\x1b[31m" + base64.b64encode(os.urandom(30)).decode()
    file.save()
    status, _, err = command("denoise", "a.flac", "-o", "b.sph")
    assert status == 0 and all(len(line) < 800 and line.isprintable() for line in err.splitlines())


@needs_ffmpeg
@pytest.mark.parametrize("suffix", ["aiff", "w64", "flac"])
def test_comments_too_long_for_libsndfile_are_kept_or_named(here, command, suffix):
    """In AIFF it would not read the file any further."""
    soundfile.write("s.wav", sound(0.5, 1, 16000), 16000)
    ffmpeg("-i", "s.wav", "-metadata", f"comment={20_000 * 'a'}", "a.m4a")
    status, _, said = command("denoise", "a.m4a", "-o", f"b.{suffix}")
    assert status == 0 and soundfile.info(f"b.{suffix}").duration == pytest.approx(0.5, abs=0.1)
    held = 20_000 * b"a" in (here / f"b.{suffix}").read_bytes()
    assert held != ("does not hold these metadata of a.m4a: comment" in said)

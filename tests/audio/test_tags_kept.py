"""Tags, pictures and chapters of FLAC, Ogg and MP3 files come back byte by byte; mutagen writes
and reads them."""

import base64
import json

import numpy as np
import pytest
import soundfile
from audio_files import ogg_checksum
from tagged_files import CHAPTERS, chapters, ffmpeg, needs_ffmpeg, sound

from qse.audio.id3 import read_tags, without_loudness_frames
from qse.audio.id3_frames import tag_size
from qse.audio.ogg_page import checksum

mutagen = pytest.importorskip("mutagen")
from mutagen import apev2, flac, id3, mp3, oggopus, oggvorbis

PICTURE = bytes(range(256)) * 400  # more than an Ogg page holds
COMMENTS = [
    ("ALBUMARTIST", "Müller"),
    ("DISCNUMBER", "2"),
    ("ISRC", "DEA123456789"),
    ("LYRICS", "one\ntwo"),
    ("ARTIST", "first"),
    ("ARTIST", "second"),
    ("DESCRIPTION", "a description"),
    ("odd key", "kept as it is"),
    ("CHAPTER001", "00:00:00.000"),
    ("CHAPTER001NAME", "Anfang"),
]
GAINS = [
    ("REPLAYGAIN_TRACK_GAIN", "-3.2 dB"),
    ("R128_TRACK_GAIN", "-512"),
    ("replaygain_track_peak", "0.9"),
]


def picture() -> flac.Picture:
    made = flac.Picture()
    made.data = PICTURE
    made.type = 3
    made.mime = "image/png"
    made.desc = "front"
    return made


def make(path, **how):
    form = {"ogg": "OGG", "opus": "OGG", "flac": "FLAC", "mp3": "MP3"}[path.suffix[1:]]
    subtype = "OPUS" if path.suffix == ".opus" else None
    rate = how.get("rate", 16000)
    soundfile.write(path, sound(2.0, 2, rate), rate, subtype, format=form)
    return path


def test_flac_blocks_come_back(here, command):
    file = flac.FLAC(make(here / "a.flac"))
    file.delete()
    file.delete()
    file = flac.FLAC(here / "a.flac")
    file.add_tags()
    file.tags.extend(COMMENTS + GAINS)
    file.add_picture(picture())
    sheet = flac.CueSheet(None)
    sheet.media_catalog_number = b"1234567890123"
    sheet.lead_in_samples = 88200
    sheet.compact_disc = True
    track = flac.CueSheetTrack(1, 0, isrc=b"DEA123456789")
    track.indexes.append(flac.CueSheetTrackIndex(1, 0))
    sheet.tracks = [track, flac.CueSheetTrack(170, 32000, isrc=b"")]
    file.metadata_blocks.append(sheet)
    file.cuesheet = sheet
    file.save(padding=lambda info: 77)
    data = (here / "a.flac").read_bytes()
    application = bytes([2, 0, 0, 7]) + b"riffxyz"
    (here / "a.flac").write_bytes(data[:42] + application + data[42:])  # behind STREAMINFO
    before = flac.FLAC(here / "a.flac")
    status, _, err = command("denoise", "a.flac")
    after = flac.FLAC(here / "a-enhanced.flac")
    assert status == 0 and list(after.tags) == COMMENTS
    assert after.pictures == before.pictures and after.cuesheet == before.cuesheet
    assert application in (here / "a-enhanced.flac").read_bytes()[:200]
    assert [block.length for block in after.metadata_blocks if block.code == 1] == [77]
    assert all(
        name in err
        for name in ("REPLAYGAIN_TRACK_GAIN", "R128_TRACK_GAIN", "REPLAYGAIN_TRACK_PEAK")
    )
    np.testing.assert_array_equal(soundfile.read("a-enhanced.flac")[0], soundfile.read("a.flac")[0])


def test_flac_behind_an_id3_tag(here, command):
    data = make(here / "a.flac").read_bytes()
    tag = b"ID3\3\0\0\0\0\0\x0b" + b"TIT2\0\0\0\1\0\0\0"
    (here / "a.flac").write_bytes(tag + data)
    assert command("denoise", "a.flac")[0] == 0
    assert flac.FLAC(here / "a-enhanced.flac").info.total_samples == 32000


def test_flac_between_tags_of_mp3(here, command):
    """They come back in a FLAC file, and are named as lost for another format."""
    front = b"ID3\3\0\0\0\0\0\x0e" + b"TIT2\0\0\0\4\0\0\0one"
    back = b"TAG" + bytes(125)
    data = make(here / "a.flac").read_bytes()
    (here / "a.flac").write_bytes(front + data + back)
    assert command("denoise", "a.flac")[0] == 0
    after = (here / "a-enhanced.flac").read_bytes()
    assert after.startswith(front + b"fLaC") and after.endswith(back)
    np.testing.assert_array_equal(soundfile.read("a-enhanced.flac", 32000)[0].shape, (32000, 2))
    _, out, _ = command("denoise", "a.flac", "-o", "b.au", "--json")
    assert json.loads(out)["lost"] == ["title"]


@pytest.mark.parametrize(
    "suffix, opened", [("ogg", oggvorbis.OggVorbis), ("opus", oggopus.OggOpus)]
)
@pytest.mark.parametrize("covers", [0, 1, 3])
def test_ogg_comments_come_back(here, command, suffix, opened, covers):
    path = make(here / f"a.{suffix}", rate=48000)
    file = opened(path)
    file.delete()
    block = base64.b64encode(picture().write()).decode()
    entries = [(key.lower(), text) for key, text in COMMENTS] + covers * [
        ("metadata_block_picture", block)
    ]
    for key, text in entries + GAINS:
        file[key] = [*file.get(key, []), text]
    file.save()
    status, _, err = command("denoise", path.name)
    result = here / f"a-enhanced.{suffix}"
    after = opened(result)
    assert status == 0 and sorted(after.tags) == sorted(entries)
    assert "R128_TRACK_GAIN" in err and "lib" in after.tags.vendor
    _check_pages(result.read_bytes())
    assert soundfile.info(result).frames == soundfile.info(path).frames


def _check_pages(data: bytes) -> None:
    """Every page has the next number and a right checksum, bit by bit as in RFC 3533."""
    at = 0
    number = 0
    while at < len(data):
        count = data[at + 26]
        end = at + 27 + count + sum(data[at + 27 : at + 27 + count])
        page = data[at:end]
        assert page[:4] == b"OggS" and int.from_bytes(page[18:22], "little") == number
        blank = page[:22] + bytes(4) + page[26:]
        assert int.from_bytes(page[22:26], "little") == checksum(blank)
        if number < 3:
            assert checksum(blank) == ogg_checksum(blank)
        at = end
        number = number + 1


@needs_ffmpeg
def test_ogg_result_is_read_by_ffmpeg(here, command):
    path = make(here / "a.ogg")
    file = oggvorbis.OggVorbis(path)
    file["metadata_block_picture"] = base64.b64encode(picture().write()).decode()
    file.save()
    command("denoise", "a.ogg")
    decoded = np.frombuffer(
        ffmpeg("-i", "a-enhanced.ogg", "-map", "0:a", "-f", "f32le", "-"), np.float32
    )
    np.testing.assert_allclose(
        decoded.reshape(-1, 2), soundfile.read("a-enhanced.ogg")[0], atol=1e-4
    )


FRAMES = [
    id3.TIT2(encoding=3, text="Müller"),
    id3.TDRC(encoding=3, text="2024-03-01"),
    id3.COMM(encoding=1, lang="deu", desc="", text="Grüße"),
    id3.COMM(encoding=0, lang="eng", desc="second", text="other"),
    id3.APIC(encoding=0, mime="image/png", type=3, desc="front", data=PICTURE),
    id3.CTOC(element_id="toc", flags=3, child_element_ids=["c1"], sub_frames=[]),
    id3.CHAP(
        element_id="c1",
        start_time=0,
        end_time=1000,
        start_offset=0xFFFFFFFF,
        end_offset=0xFFFFFFFF,
        sub_frames=[id3.TIT2(encoding=3, text="Kapitel")],
    ),
    id3.PRIV(owner="someone", data=bytes(range(256))),
    id3.USLT(encoding=3, lang="deu", desc="", text="Text"),
]
LOUD = [
    id3.RVA2(desc="track", channel=1, gain=-3, peak=0.9),
    id3.TXXX(encoding=0, desc="replaygain_track_gain", text="-3 dB"),
    id3.TXXX(encoding=1, desc="REPLAYGAIN_ALBUM_PEAK", text="0.9"),
    id3.COMM(encoding=0, lang="eng", desc="iTunNORM", text=" 00000001"),
]


@pytest.mark.parametrize("version", [3, 4])
@pytest.mark.parametrize("loud", [[], LOUD])
def test_mp3_tags_come_back(here, command, version, loud):
    path = make(here / "a.mp3", rate=44100)
    tag = id3.ID3()
    for frame in FRAMES + loud:
        tag.add(frame)
    tag.save(path, v2_version=version, v1=2)
    status, _, err = command("denoise", "a.mp3")
    before = id3.ID3(path, translate=False)
    after = id3.ID3(here / "a-enhanced.mp3", translate=False)
    kept = {
        key
        for key in before
        if "replaygain" not in key.lower() and "RVA" not in key and "iTunNORM" not in key
    }
    assert status == 0 and set(after) == kept
    assert all(after[key] == before[key] for key in kept)
    named = ("RVA2", "replaygain_track_gain", "REPLAYGAIN_ALBUM_PEAK", "iTunNORM")
    assert all((name in err) == bool(loud) for name in named) and "\xff" not in err
    if not loud:
        assert read_tags(here / "a-enhanced.mp3") == read_tags(path)
    assert (here / "a-enhanced.mp3").read_bytes()[-128:-125] == b"TAG"
    assert mp3.MP3(here / "a-enhanced.mp3").info.length == pytest.approx(2.0, abs=0.1)
    assert soundfile.info("a-enhanced.mp3").frames == soundfile.info("a.mp3").frames


def test_mp3_ape_tag_with_a_large_cover_comes_back(here, command):
    path = make(here / "a.mp3", rate=44100)
    file = apev2.APEv2()
    file["Title"] = "Müller"
    file["Cover Art (Front)"] = apev2.APEValue(b"cover.jpg\0" + PICTURE, apev2.BINARY)
    file.save(path)
    assert command("denoise", "a.mp3")[0] == 0
    assert read_tags(here / "a-enhanced.mp3") == read_tags(path)
    assert apev2.APEv2(here / "a-enhanced.mp3")["Cover Art (Front)"].value[10:] == PICTURE


def test_ape_tag_that_claims_more_than_the_file_holds_is_none(here):
    path = make(here / "a.mp3", rate=44100)
    footer = b"APETAGEX" + bytes([208, 7, 0, 0, 255, 255, 255, 0]) + bytes(16)
    path.write_bytes(path.read_bytes() + footer)
    assert read_tags(path).back == b""


def test_mp3_ape_tag_comes_back_without_gains(here, command):
    path = make(here / "a.mp3", rate=44100)
    file = apev2.APEv2()
    file["Title"] = "Müller"
    file["Odd"] = "kept"
    file["MP3GAIN_MINMAX"] = "1,2"
    file["REPLAYGAIN_TRACK_GAIN"] = "-3 dB"
    file.save(path)
    _, _, err = command("denoise", "a.mp3")
    after = apev2.APEv2(here / "a-enhanced.mp3")
    assert {key: str(after[key]) for key in after} == {"Title": "Müller", "Odd": "kept"}
    assert "MP3GAIN_MINMAX" in err


@pytest.mark.parametrize("version, flags, size", [(4, 0, 17), (4, 0x10, 27), (3, 0x10, 17)])
def test_only_a_tag_of_version_4_has_a_footer(version, flags, size):
    """Its own flag says so; ID3v2.4, section 3.4."""
    assert tag_size(b"ID3" + bytes([version, 0, flags, 0, 0, 0, 7])) == size


def test_unsynchronised_tag_of_version_3():
    """Bytes 0xFF 0x00 in such a tag mean 0xFF."""
    frame = b"PRIV\0\0\0\4\0\0o\0\xff\0\xe0"
    loud = b"RVAD\0\0\0\2\0\0\1\1"
    tag = b"ID3\3\0\x80\0\0\0" + bytes([len(frame + loud)]) + frame + loud
    kept, dropped = without_loudness_frames(tag)
    assert dropped == ["RVAD"] and kept == b"ID3\3\0\0\0\0\0\x0e" + b"PRIV\0\0\0\4\0\0o\0\xff\xe0"
    assert without_loudness_frames(tag[:-1]) == (tag[:-1], [])


def test_unsynchronised_tag_of_version_4():
    """There each frame is unsynchronised by itself, and comes back as it is."""
    frame = b"PRIV\0\0\0\5\0\2o\0\xff\0\xe0"
    loud = b"RVA2\0\0\0\2\0\0\1\1"
    tag = b"ID3\4\0\x80\0\0\0" + bytes([len(frame + loud)]) + frame + loud
    kept, dropped = without_loudness_frames(tag)
    assert dropped == ["RVA2"] and kept == tag[:9] + bytes([len(frame)]) + frame


def test_tag_of_version_2():
    """Its frames have identifiers of three letters and sizes of three bytes."""
    frame = b"TT2\0\0\6\0title"
    loud = b"RVA\0\0\2\1\1" + b"TXX\0\0\x1b\0replaygain_track_gain\0-3 dB"
    tag = b"ID3\2\0\0\0\0\0" + bytes([len(frame + loud)]) + frame + loud
    kept, dropped = without_loudness_frames(tag)
    assert dropped == ["RVA", "replaygain_track_gain"]
    assert kept == tag[:9] + bytes([len(frame)]) + frame


def test_size_of_a_frame_with_eight_bits_in_each_byte():
    """As iTunes writes it in version 4, where seven bits are meant."""
    frame = b"PRIV\0\0\1\x80\0\0" + 0x180 * b"A"
    loud = b"RVA2\0\0\0\2\0\0\1\1"
    size = len(frame + loud)
    tag = b"ID3\4\0\0\0\0" + bytes([size >> 7, size & 0x7F]) + frame + loud
    kept, dropped = without_loudness_frames(tag)
    assert dropped == ["RVA2"] and kept[10:] == frame


@needs_ffmpeg
@pytest.mark.parametrize("suffix", ["mp3", "opus"])
def test_chapters_are_read_by_ffprobe(here, command, suffix):
    (here / "chapters").write_text(CHAPTERS)
    soundfile.write(here / "s.wav", sound(), 16000)
    ffmpeg("-i", "s.wav", "-i", "chapters", "-map_metadata", 1, "-map_chapters", 1, f"a.{suffix}")
    assert command("denoise", f"a.{suffix}")[0] == 0
    assert chapters(here / f"a-enhanced.{suffix}") == chapters(here / f"a.{suffix}")
    assert [title for _, title in chapters(here / f"a.{suffix}")] == ["One", "Zwei"]

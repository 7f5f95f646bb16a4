"""Dates, brands, places and rates of recordings come through, or their change is said."""

import base64
import json
import os
import shutil
import struct
import subprocess

import pytest
import soundfile
from tagged_files import ffmpeg, needs_ffmpeg, probed, sound, tags, wav, with_chunks

from qse.audio.dates import once

# matrices of tracks of MP4 (ISO/IEC 14496-12, 8.3.2), of 16 and 2 bits before the point
UPRIGHT = struct.pack(">9i", 1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30)
TURNED = struct.pack(">9i", 0, -1 << 16, 0, 1 << 16, 0, 0, 0, 0, 1 << 30)
WHEN = "2024-05-06T05:08:09"
needs_exiftool = pytest.mark.skipif(shutil.which("exiftool") is None, reason="needs exiftool")


def exif(path, *names: str) -> list[str]:
    """Return what exiftool says of a file, without the name of the group."""
    line = ["exiftool", "-s3", "-f", *(f"-{name}" for name in names), str(path)]
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout.splitlines()


@needs_ffmpeg
@pytest.mark.parametrize("to", ["m4a", "mp3", "mka", "aiff", "caf", "flac", "opus"])
@pytest.mark.parametrize("long", [(), ("-rf64", "always")])
def test_date_and_time_of_bext_stay_together(here, command, to, long):
    """ffmpeg took the time of day for one of today."""
    bext = ["-write_bext", 1, "-metadata", "origination_date=2020-11-01"]
    bext += ["-metadata", "origination_time=10:11:12", *long]
    both = ["-metadata", "date=2020-11-01", "-metadata", "creation_time=10:11:12"]
    ffmpeg("-i", wav(here / "s.wav", sample_rate=48000), *bext, *both, "a.wav")
    _, out, err = command("denoise", "a.wav", "-o", f"b.{to}", "--json")
    assert json.loads(out)["lost"] in ([], ["time_reference"]), err
    assert tags(here / f"b.{to}")["creation_time"].startswith("2020-11-01T10:11:12")


@needs_ffmpeg
@pytest.mark.parametrize("to", ["m4a", "mp3", "mka"])
def test_time_without_a_date_is_lost_and_said(here, command, to):
    bext = bytes(330) + b"10:11:12" + bytes(264)
    with_chunks(wav(here / "a.wav", sample_rate=48000), [(b"bext", bext)])
    _, out, _ = command("denoise", "a.wav", "-o", f"b.{to}", "--json")
    assert "creation_time" in json.loads(out)["lost"]
    assert "creation_time" not in tags(here / f"b.{to}")


@needs_ffmpeg
@pytest.mark.parametrize("brand", ["M4B ", "M4A "])
def test_brand_of_an_audio_book(here, command, brand):
    ffmpeg("-i", wav(here / "s.wav"), "-c:a", "aac", "-brand", brand, "-f", "ipod", "a.m4b")
    assert command("denoise", "a.m4b")[0] == 0
    assert (here / "a-enhanced.m4b").read_bytes()[4:12] == b"ftyp" + brand.encode()


@needs_ffmpeg
def test_book_made_of_another_format_has_the_brand_of_one(here, command):
    assert command("denoise", wav(here / "s.wav"), "-o", "a.m4b")[0] == 0
    assert (here / "a.m4b").read_bytes()[4:12] == b"ftypM4B "


@needs_ffmpeg
@needs_exiftool
@pytest.mark.parametrize("suffix", ["mov", "mp4"])
def test_video_of_a_phone_keeps_place_date_and_camera(here, command, suffix):
    keys = {
        "com.apple.quicktime.make": "Apple",
        "com.apple.quicktime.model": "iPhone 15",
        "com.apple.quicktime.creationdate": "2024-05-06T07:08:09+0200",
        "com.apple.quicktime.location.ISO6709": "+48.1371+011.5754+519.0/",
    }
    metadata = ["-metadata", "creation_time=2024-05-06T05:08:09Z"]
    for name, text in keys.items():
        metadata += ["-metadata", f"{name}={text}"]
    video = ["-f", "lavfi", "-i", "testsrc=duration=1:size=64x32:rate=5", "-c:v", "mpeg4"]
    ffmpeg("-i", wav(here / "s.wav"), *video, "-c:a", "aac", "plain.mp4")
    flags = ["-c", "copy", "-movflags", "use_metadata_tags"]
    ffmpeg("-i", "plain.mp4", *metadata, *flags, f"a.{suffix}")
    turned = (here / f"a.{suffix}").read_bytes()
    at = turned.index(UPRIGHT, turned.index(b"tkhd"))  # of the picture, which is the first track
    (here / f"a.{suffix}").write_bytes(turned[:at] + TURNED + turned[at + len(TURNED) :])
    _, out, err = command("denoise", f"a.{suffix}", "--json")
    assert json.loads(out)["lost"] == [], err
    after = here / f"a-enhanced.{suffix}"
    found = tags(after)
    assert {name: found.get(name.lower()) for name in keys} == keys
    wanted = ("Make", "Model", "CreationDate", "GPSCoordinates", "CreateDate", "Rotation")
    before = exif(here / f"a.{suffix}", *wanted)
    assert exif(after, *wanted) == before and "-" not in before and "270" in before
    assert rotation(after) == rotation(here / f"a.{suffix}") != []


def rotation(path) -> list:
    streams = probed(path)["streams"]
    return [each["side_data_list"] for each in streams if "side_data_list" in each]


@needs_ffmpeg
def test_place_that_is_written_in_another_way_is_not_lost(here, command):
    video = ["-f", "lavfi", "-i", "testsrc=duration=1:size=64x32:rate=5", "-c:v", "mpeg4"]
    place = ["-metadata", "location=+48.13710+011.57540/"]
    ffmpeg("-i", wav(here / "s.wav"), *video, "-c:a", "aac", *place, "a.mov")
    _, out, _ = command("denoise", "a.mov", "-o", "b.mp4", "--json")
    assert json.loads(out)["lost"] == [] and "location" in tags(here / "b.mp4")


@pytest.mark.parametrize("rate", [11025, 22050, 32000, 44100, 96000])
@pytest.mark.parametrize("to", ["opus", "mp3"])
def test_rate_that_a_target_cannot_hold_is_converted_and_said(here, command, rate, to):
    soundfile.write(here / "a.wav", sound(1.0, 1, rate), rate)
    status, out, err = command("denoise", "a.wav", "-o", f"b.{to}", "--json", "--strength", 0)
    assert status == 0, err
    written = soundfile.info(here / f"b.{to}")
    fits = to == "mp3" and rate < 96000
    assert (f"cannot hold {rate} Hz: converted to {written.samplerate} Hz" in err) != fits
    assert written.samplerate >= min(rate, 48000)
    assert written.frames / written.samplerate == pytest.approx(1.0, abs=0.05)
    assert json.loads(out)["seconds"] == pytest.approx(1.0, abs=1e-3)


def test_output_stays_where_times_cannot_be_set(here, command, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "utime", refuse)
    status, _, err = command("denoise", wav(here / "a.wav"), "--keep-times")
    assert status == 0 and (here / "a-enhanced.wav").is_file()
    assert "a-enhanced.wav has not the times of" in err and "Operation not permitted" in err


def test_checksum_of_the_samples_is_not_called_loudness(here, command):
    with_chunks(wav(here / "a.wav"), [(b"MD5 ", bytes(16))])
    _, _, err = command("denoise", "a.wav")
    assert "says of its samples, because it no longer holds after enhancement: MD5" in err


def picture(kind: int) -> bytes:
    """A picture block of FLAC (RFC 9639, section 8.8) with a PNG of one pixel."""
    png = bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8"
        "cfc000000301010018dd8db00000000049454e44ae426082"
    )
    numbers = [number.to_bytes(4, "big") for number in (1, 1, 24, 0, len(png))]
    head = kind.to_bytes(4, "big") + (9).to_bytes(4, "big") + b"image/png" + bytes(4)
    return head + b"".join(numbers) + png


def commented(path, to: str):
    """Write a recording with an artist twice and two pictures, of front and back; by mutagen."""
    mutagen = pytest.importorskip("mutagen")
    ffmpeg("-i", wav(path / "s.wav", sample_rate=48000), path / f"a.{to}")
    file = mutagen.File(path / f"a.{to}")
    file["artist"] = ["A", "B"]
    file["replaygain_track_gain"] = ["-7 dB"]
    if to == "flac":
        for kind in (3, 4):
            file.add_picture(mutagen.flac.Picture(picture(kind)))
    else:
        texts = [base64.b64encode(picture(kind)).decode() for kind in (3, 4)]
        file["metadata_block_picture"] = texts
    file.save()
    return path / f"a.{to}"


@needs_ffmpeg
@pytest.mark.parametrize("to", ["flac", "ogg", "opus"])
@pytest.mark.parametrize("of", ["flac", "ogg", "opus"])
def test_all_values_and_types_of_covers(here, command, of, to):
    mutagen = pytest.importorskip("mutagen")
    commented(here, of)
    _, out, err = command("denoise", f"a.{of}", "-o", f"b.{to}", "--json")
    assert [name.lower() for name in json.loads(out)["lost"]] == ["replaygain_track_gain"], err
    file = mutagen.File(here / f"b.{to}")
    assert file["artist"] == ["A", "B"] and "replaygain_track_gain" not in file
    if to == "flac":
        found = [each.write() for each in file.pictures]
    else:
        found = [base64.b64decode(text) for text in file["metadata_block_picture"]]
    assert found == [picture(3), picture(4)]


@needs_ffmpeg
@pytest.mark.parametrize("to", ["mp3", "aiff", "m4a", "mka", "wav"])
def test_values_that_become_one_text_are_said(here, command, to):
    """A target of ffmpeg has one text, "A;B"."""
    commented(here, "flac")
    _, out, _ = command("denoise", "a.flac", "-o", f"b.{to}", "--json")
    assert "several values of ARTIST" in json.loads(out)["lost"]
    assert tags(here / f"b.{to}")["artist"] == "A;B"


@needs_ffmpeg
@pytest.mark.parametrize("to", ["mp3", "aiff"])
def test_types_of_covers_are_mapped(here, command, to):
    pytest.importorskip("mutagen")
    commented(here, "opus")
    command("denoise", "a.opus", "-o", f"b.{to}")
    found = [
        stream.get("tags", {}).get("comment") for stream in probed(here / f"b.{to}")["streams"]
    ]
    assert [text for text in found if text] == ["Cover (front)", "Cover (back)"]


@needs_ffmpeg
@pytest.mark.parametrize("of", ["mp3", "aiff"])
@pytest.mark.parametrize("coding", [1, 3])
def test_values_of_id3_that_ffmpeg_does_not_read_are_said(here, command, of, coding):
    """It reads the first."""
    id3 = pytest.importorskip("mutagen.id3")
    mutagen = pytest.importorskip("mutagen")
    ffmpeg("-i", wav(here / "s.wav"), here / f"a.{of}")
    file = mutagen.File(here / f"a.{of}")
    if file.tags is None:
        file.add_tags()
    file.tags.add(id3.TPE1(encoding=coding, text=["A", "B"]))
    file.tags.add(id3.TIT2(encoding=coding, text=["one"]))
    file.tags.add(id3.TXXX(encoding=coding, desc="mood", text=["one"]))
    file.save()
    _, out, _ = command("denoise", f"a.{of}", "-o", "b.flac", "--json")
    lost = [name for name in json.loads(out)["lost"] if name.startswith("several")]
    assert lost == ["several values of TPE1"]


@needs_ffmpeg
@pytest.mark.parametrize("is_long", [True, False])
def test_caf_without_positions_stays_without(here, command, is_long):
    """Of unknown length, it is read by ffmpeg, which supposes positions."""
    ffmpeg("-i", wav(here / "s.wav"), here / "a.caf")
    data = bytearray((here / "a.caf").read_bytes())
    place = data.find(b"chan", 8)
    del data[place : place + 24]
    place = data.find(b"data", 8)
    if is_long:
        data[place + 4 : place + 12] = b"\xff" * 8
    (here / "a.caf").write_bytes(data)
    assert command("denoise", "a.caf")[0] == 0
    assert b"chan" not in (here / "a-enhanced.caf").read_bytes()[:4096]


def test_times_that_ffmpeg_joins_are_stated_once():
    """Version 9 joins those of the header and of the keys of MP4."""
    both = {"creation_time": f"{WHEN}.000000Z;{WHEN}Z", "major_brand": "qt  ;qt  "}
    assert once(both) == {"creation_time": f"{WHEN}.000000Z", "major_brand": "qt  "}
    different = {"creation_time": f"{WHEN}Z;2023-01-01T00:00:00Z", "artist": "a;a"}
    assert once(different) == different

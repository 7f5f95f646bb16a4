"""Dates, brands, places and rates of recordings come through, or their change is said."""

import json
import os
import shutil
import subprocess

import pytest
import soundfile
from tagged_files import ffmpeg, needs_ffmpeg, probed, sound, tags, wav, with_chunks

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
    flags = ["-c", "copy", "-movflags", "use_metadata_tags", "-metadata:s:v:0", "rotate=90"]
    ffmpeg("-i", "plain.mp4", *metadata, *flags, f"a.{suffix}")
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

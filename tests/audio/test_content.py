"""The content of a file decides who reads it, its suffix what is written."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import soundfile
from audio_files import KINDS, make
from tagged_files import ffmpeg, needs_ffmpeg, sound, wav

from qse.audio.content import kind_of, wrong_suffix
from qse.audio.plain import Au
from qse.audio.reader import open_audio
from qse.errors import QseError


def length(path) -> int:
    with open_audio(path) as source:
        return sum(len(block) for block in source.blocks())


@pytest.mark.parametrize("suffix, subtype", KINDS)
def test_kind_of_knows_what_libsndfile_writes(tmp_path, suffix, subtype):
    path = make(tmp_path / f"a.{suffix}", sound(), subtype, 48000)
    assert kind_of(path) is not None and not wrong_suffix(path, kind_of(path))
    assert not wrong_suffix(tmp_path / "a.bin", kind_of(path))


@needs_ffmpeg
@pytest.mark.parametrize(
    "suffix", ["m4a", "mp4", "mov", "mka", "mkv", "webm", "wma", "ac3", "aac", "3gp", "mp3", "spx"]
)
def test_kind_of_knows_what_ffmpeg_writes(tmp_path, suffix):
    coding = {
        "webm": ["-c:a", "libopus"],
        "3gp": ["-c:a", "aac"],
        "spx": ["-c:a", "flac", "-f", "ogg"],
    }.get(suffix, [])
    ffmpeg("-i", wav(tmp_path / "s.wav"), *coding, tmp_path / f"a.{suffix}")
    kind = kind_of(tmp_path / f"a.{suffix}")
    assert kind and not wrong_suffix(tmp_path / f"a.{suffix}", kind)
    assert length(tmp_path / f"a.{suffix}") >= 16000


@needs_ffmpeg
@pytest.mark.parametrize(
    "way",
    [
        ("-c:a", "g726", "-ar", "8000"),
        ("-c:a", "wmav2"),
        ("-c:a", "adpcm_yamaha"),
        ("-c:a", "adpcm_swf", "-ar", "22050"),
    ],
)
def test_wav_that_libsndfile_does_not_read(here, command, way):
    ffmpeg("-i", wav(here / "s.wav"), *way, "a.wav")
    with pytest.raises(soundfile.LibsndfileError):
        soundfile.info("a.wav")
    status, out, err = command("denoise", "a.wav", "--json")
    assert status == 0, err
    assert json.loads(out)["seconds"] == pytest.approx(1.0, abs=0.15)
    assert soundfile.info("a-enhanced.wav").subtype == "PCM_16"


@needs_ffmpeg
def test_wav_that_ffmpeg_reads_is_refused_if_it_is_cut(here, command):
    ffmpeg("-i", wav(here / "s.wav"), "-c:a", "wmav2", "a.wav")
    data = (here / "a.wav").read_bytes()
    (here / "a.wav").write_bytes(data[: len(data) * 2 // 3])
    status, _, err = command("denoise", "a.wav")
    assert status == 1 and "a.wav is cut short: its end is missing" in err and "--salvage" in err
    status, _, err = command("denoise", "a.wav", "--salvage")
    assert status == 0 and "a.wav is damaged: " in err


@needs_ffmpeg
def test_mp3_without_a_length_and_joined_ones_are_read_whole(here, command):
    quiet = np.concatenate([sound(3.0, 1, 44100), np.zeros((441000, 1), np.float32)])
    soundfile.write(here / "s.wav", quiet, 44100)
    ffmpeg("-i", "s.wav", "-q:a", 4, "-write_xing", 0, "-id3v2_version", 0, "vbr.mp3")
    ffmpeg(
        "-i",
        wav(here / "t.wav", sample_rate=44100),
        "-metadata",
        "title=x",
        "-write_id3v1",
        1,
        "one.mp3",
    )
    (here / "joined.mp3").write_bytes(2 * (here / "one.mp3").read_bytes())
    for name, seconds in (("vbr", 13.0), ("joined", 2.0)):
        status, out, err = command("denoise", f"{name}.mp3", "--json")
        assert status == 0, err
        assert json.loads(out)["seconds"] == pytest.approx(seconds, abs=0.15)
        assert length(here / f"{name}-enhanced.mp3") / 44100 == pytest.approx(seconds, abs=0.2)


@needs_ffmpeg
@pytest.mark.skipif(os.name != "posix", reason="tests a pipe")
def test_m4a_from_a_pipe(here):
    ffmpeg("-i", wav(here / "s.wav"), "-c:a", "alac", "a.m4a")
    code = "from qse_cli.main import main; main()"
    line = [sys.executable, "-c", code, "denoise", "-"]
    done = subprocess.run(line, input=(here / "a.m4a").read_bytes(), capture_output=True)
    assert done.returncode == 0, done.stderr
    (here / "b.wav").write_bytes(done.stdout)
    np.testing.assert_array_equal(soundfile.read("b.wav")[0], soundfile.read("s.wav")[0])


def test_wav_behind_an_id3_tag_is_no_mp3(here, command):
    """Its chunks are named as lost."""
    tag = b"ID3\3\0\0\0\0\0\x0b" + b"TIT2\0\0\0\1\0\0\0"
    soundfile.write(here / "a.wav", sound(), 16000)
    (here / "a.wav").write_bytes(tag + (here / "a.wav").read_bytes())
    assert kind_of(here / "a.wav") == "WAV"
    status, out, err = command("denoise", "a.wav", "--json")
    assert status == 0 and "is a file of the kind" not in err
    assert json.loads(out)["lost"] == ["all chunks"]


def test_annotation_of_an_au_file_is_named_as_lost(here, command):
    soundfile.write(here / "a.au", sound(), 16000)
    data = bytearray((here / "a.au").read_bytes())
    data[4:8] = (56).to_bytes(4, "big")
    (here / "a.au").write_bytes(bytes(data[:24]) + b"by hand".ljust(32, b"\0") + bytes(data[24:]))
    found = Au.at(here / "a.au")
    assert found.copy_into(found, same_coding=True, samples=0).lost == ["annotation"]
    for target, lost in (("b.au", ["annotation"]), ("b.wav", ["annotation"])):
        _, out, _ = command("denoise", "a.au", "-o", target, "--json")
        assert json.loads(out)["lost"] == lost


def test_wrong_suffix_is_said(here, command):
    soundfile.write(here / "a.wav", sound(2.0), 16000, format="MP3")
    soundfile.write(here / "b.flac", sound(), 16000, format="WAV")
    for name, kind, form in (("a.wav", "MP3", "WAV"), ("b.flac", "WAV", "FLAC")):
        _, out, err = command("denoise", name, "--json")
        assert (
            err.count("qse: warning:") == 1
            and f"{name} is a file of the kind {kind}, read as such" in err
        )
        assert f"kind {kind}" in json.loads(out)["warning"]
        stem, _, suffix = name.partition(".")
        assert soundfile.info(f"{stem}-enhanced.{suffix}").format == form


@needs_ffmpeg
def test_wrong_suffix_of_ffmpeg_files(here, command):
    ffmpeg("-i", wav(here / "s.wav"), "-c:a", "aac", "-f", "ipod", "a.mp3")
    (here / "s.wav").rename(here / "s.m4a")
    status, _, err = command("denoise", "a.mp3", "s.m4a", "-o", "out")
    assert (
        status == 0
        and "a.mp3 is a file of the kind MP4" in err
        and "s.m4a is a file of the kind WAV" in err
    )
    assert (kind_of(here / "out/a.mp3"), kind_of(here / "out/s.m4a")) == ("MP3", "MP4")


def test_rf64_in_a_wav_file_is_no_wrong_suffix(here, command):
    soundfile.write(here / "a.wav", sound(), 16000, format="RF64")
    _, out, _ = command("denoise", "a.wav", "--json")
    assert json.loads(out)["warning"] is None and soundfile.info("a-enhanced.wav").format == "RF64"


def test_text_is_no_sound_for_ffmpeg_either(here):
    for name in ("a.wav", "a.mp3", "a.m4a", "a.flac"):
        (here / name).write_text("these are words, not sound\n" * 50)
        with pytest.raises(QseError, match=name):
            open_audio(here / name)


@needs_ffmpeg
def test_a_damaged_sample_rate_is_refused_for_ffmpeg_too(here):
    """libsndfile does not open this file, ffmpeg does: it would be resampled from 1 Hz."""
    make(here / "a.sph", sound(), "PCM_16")
    data = (here / "a.sph").read_bytes()
    at = data.index(b"sample_rate -i 16000")
    (here / "a.sph").write_bytes(data[:at] + b"sample_rate -i 1\0\0\0\0" + data[at + 20 :])
    with pytest.raises(
        QseError, match=r"a\.sph (claims 1 samples per second|is not an audio file)"
    ):
        open_audio(here / "a.sph")

"""Every suffix of a container that ffmpeg may read is known, alone and in folders."""

import json

import pytest
from audio_files import outcome
from tagged_files import ffmpeg, needs_ffmpeg, wav

from qse.audio.content import kind_of, wrong_suffix
from qse.audio.ffmpeg_input import DEMUXERS
from qse.audio.suffixes import SUFFIXES

WAYS = {  # suffix -> how ffmpeg makes such a file
    **dict.fromkeys(("mts", "ts"), ("-c:a", "aac", "-f", "mpegts")),
    "m2ts": ["-c:a", "ac3", "-f", "mpegts", "-mpegts_m2ts_mode", 1],
    **dict.fromkeys(("mpg", "vob"), ("-c:a", "mp2", "-f", "vob")),
    "mp2": ["-c:a", "mp2"],
    "wv": ["-c:a", "wavpack"],
    "tta": [],
    "avi": ["-c:a", "pcm_s16le"],
    "wmv": ["-c:a", "wmav2", "-f", "asf"],
    "flv": ["-c:a", "aac"],
    "eac3": ["-c:a", "eac3"],
    "dts": ["-c:a", "dca", "-strict", -2],
    "qta": ["-c:a", "aac", "-f", "mov"],
    "f4v": ["-c:a", "aac", "-f", "f4v"],
    "ogv": ["-c:a", "flac", "-f", "ogg"],
    "bwf": ["-f", "wav"],
    "amb": ["-f", "wav"],
}


@needs_ffmpeg
@pytest.mark.parametrize("suffix", WAYS)
def test_file_is_read_alone_and_in_a_folder(here, command, suffix):
    (here / "in").mkdir()
    path = here / f"in/a.{suffix}"
    ffmpeg("-i", wav(here / "s.wav", sample_rate=48000), *WAYS[suffix], path)
    kind = kind_of(path)
    assert kind and not wrong_suffix(path, kind)
    status, out, err = command("denoise", path, "-o", "b.wav", "--json")
    assert status == 0 and json.loads(out)["seconds"] == pytest.approx(1.0, abs=0.15), err
    assert command("denoise", "in", "-o", "out")[0] == 0
    kept = suffix in ("bwf", "amb", "wv", "tta")
    made = here / f"out/a.{suffix if kept else 'wav'}"
    assert kind_of(made) == (kind if suffix in ("wv", "tta") else "WAV")


def test_every_demuxer_has_a_suffix():
    """Names of demuxers that differ from their suffixes stand beside these."""
    own = {
        **{"asf": "wma", "matroska": "mkv", "mpeg": "mpg", "mpegts": "ts", "nistsphere": "sph"},
        **{"amrnb": "amr", "amrwb": "amr"},
    }
    assert {own.get(name, name) for name in DEMUXERS} <= set(SUFFIXES)


def test_sound_that_a_folder_leaves_out_is_named(here, command):
    (here / "in").mkdir()
    wav(here / "in/a.wav")
    for number in range(7):
        wav(here / f"in/b{number}.wave2")
    (here / "in/notes.txt").write_text("words")
    status, _, err = command("denoise", "in", "-o", "out")
    assert status == 0 and "7 sound files are left out: in/b0.wave2, " in err
    assert "and 2 more" in err and "notes" not in err


@pytest.mark.parametrize("suffix", ["webm", "mp4", "mkv"])
def test_video_of_sound_alone_is_refused_by_its_reason(here, command, suffix):
    """The list of formats that was printed held the suffix."""
    status, _, err = command("denoise", wav(here / "s.wav"), "-o", f"x.{suffix}")
    assert status == 1 and err.startswith(f"qse: x.{suffix}: no video can be made of sound alone;")


@needs_ffmpeg
@pytest.mark.parametrize("suffix, form", [("ulaw", "mulaw"), ("AL", "alaw"), ("raw", "s16le")])
def test_file_without_a_header_is_refused_with_a_command_that_reads_it(here, command, suffix, form):
    """Samples of a telephone system were called a playlist, or a command was named that fails."""
    sound = wav(here / "s.wav", sample_rate=8000)
    path = here / f"call.{suffix}"
    ffmpeg("-i", sound, "-f", form, path)
    status, _, err = command("denoise", path)
    assert status == 1 and "no header" in err and f"ffmpeg -f {form} -ar 8000 -i IN OUT.wav" in err
    ffmpeg("-f", form, "-ar", 8000, "-i", path, here / "back.wav")
    assert command("denoise", here / "back.wav", "-o", here / "clean.wav")[0] == 0


def test_recording_named_as_one_without_a_header_is_read(here, command):
    path = wav(here / "s.wav").rename(here / "call.raw")
    assert command("denoise", path, "-o", here / "clean.wav")[0] == 0


@needs_ffmpeg
@pytest.mark.parametrize("rate", [8000, 11025, 16000, 44100])
def test_beginning_of_wma_is_no_gap(here, rate):
    """ffmpeg leaves out the first two frames, of 0.13 s at 8 kHz."""
    ffmpeg("-i", wav(here / "s.wav"), "-ar", rate, "-c:a", "wmav2", "a.wma")
    samples, said = outcome(here / "a.wma")
    assert samples and not said

"""Formats by suffix, and the layout of a file in another format."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
from audio_files import make, tone
from tagged_files import ffmpeg, needs_ffmpeg

from qse.audio.formats import Layout, format_of
from qse.audio.reader import AudioFile
from qse.audio.writer import write
from qse.errors import QseError


@pytest.mark.parametrize(
    "source, subtype, target, expected",
    [
        ("a.wav", "PCM_24", "b.flac", ("FLAC", "PCM_24")),
        ("a.wav", "FLOAT", "b.flac", ("FLAC", "PCM_24")),
        ("a.wav", "FLOAT", "b.WAV", ("WAV", "FLOAT")),
        ("a.flac", "PCM_16", "b.opus", ("OGG", "OPUS")),
        ("a.mp3", "MPEG_LAYER_III", "b.ogg", ("OGG", "VORBIS")),
        ("a.mp3", "MPEG_LAYER_III", "b.wav", ("WAV", "PCM_16")),
        ("a.opus", "OPUS", "b.wav", ("WAV", "PCM_16")),
    ],
)
def test_layout_to_another_suffix(tmp_path, source, subtype, target, expected):
    path = make(tmp_path / source, tone(1000), subtype)
    with AudioFile(path) as file:
        layout = file.layout.to(tmp_path / target)
        write(tmp_path / target, file.blocks(), layout)
    written = soundfile.info(tmp_path / target)
    assert (layout.format, layout.subtype) == (written.format, written.subtype) == expected


def test_formats_are_those_of_libsndfile(tmp_path):
    from qse.audio.suffixes import FORMATS

    assert set(FORMATS.values()) <= set(soundfile.available_formats())
    assert format_of(tmp_path / "A.FLAC") == "FLAC" and format_of(tmp_path / "a.txt") is None
    with pytest.raises(QseError, match=r"b.mp4: no video can be made of sound alone"):
        Layout(16000, 1, "WAV", "PCM_16", "FILE", {}).to(tmp_path / "b.mp4")


def test_layout_to_writes_mp3_in_wav_as_pcm(tmp_path):
    layout = Layout(16000, 1, "WAV", "MPEG_LAYER_III", "FILE", {})
    assert layout.to(tmp_path / "b.wav").subtype == "PCM_16"
    assert replace(layout, format="MP3").to(tmp_path / "b.mp3").subtype == "MPEG_LAYER_III"


@pytest.mark.parametrize("subtype, size", [("PCM_16", 2), ("PCM_24", 3), ("FLOAT", 4)])
def test_longest_wav_is_just_below_4_gib(subtype, size):
    layout = Layout(48000, 2, "WAV", subtype, "FILE", {})
    assert (1 << 32) - (1 << 17) < 2 * size * layout.longest < (1 << 32) - 44
    assert replace(layout, format="RF64").longest == math.inf


@pytest.mark.parametrize("rate", [16_000, 44_100, 48_000])
def test_voc_of_eight_bits_would_hold_other_sample_rates(rate, tmp_path):
    layout = Layout(rate, 1, "WAV", "PCM_U8", "FILE", {}).to(tmp_path / "a.voc")
    soundfile.write(tmp_path / "a.voc", np.zeros(rate), rate, layout.subtype, format="VOC")
    assert soundfile.info(tmp_path / "a.voc").samplerate == rate


def test_rates_at_which_the_encoder_of_vorbis_would_end_the_process():
    layout = Layout(384_000, 1, "WAV", "PCM_16", "FILE", {})
    assert layout.to(Path("a.ogg")).sample_rate == 192_000
    assert layout.to(Path("a.flac")).sample_rate == 384_000


@needs_ffmpeg
def test_longest_voc_is_read_whole_by_others(tmp_path):
    layout = Layout(44100, 2, "VOC", "PCM_16", "FILE", {})
    samples = int(layout.longest)
    write(tmp_path / "a.voc", [np.zeros((samples, 2), np.float32)], layout)
    ffmpeg("-i", tmp_path / "a.voc", tmp_path / "b.wav")
    assert soundfile.info(tmp_path / "b.wav").frames == samples
    with pytest.raises(QseError, match="a VOC file cannot be so long"):
        write(tmp_path / "b.voc", [np.zeros((samples + 1, 2), np.float32)], layout)


@pytest.mark.parametrize(
    "channels, subtype, expected",
    [
        (1, "ALAC_16", "ALAC_16"),
        (1, "ALAC_24", "ALAC_24"),
        (1, "ALAC_32", "PCM_32"),
        (2, "ALAC_16", "PCM_16"),
        (2, "ALAC_20", "PCM_24"),
        (2, "ALAC_24", "PCM_24"),
    ],
)
def test_alac_of_large_packets_becomes_pcm(channels, subtype, expected):
    """libsndfile writes behind the table of their sizes, and the process may be aborted."""
    layout = Layout(48000, channels, "CAF", subtype, "FILE", {})
    assert layout.to(Path("b.caf")).subtype == expected

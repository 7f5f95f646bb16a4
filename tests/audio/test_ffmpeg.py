"""Files that only ffmpeg reads: sound of phones, and videos, which keep their picture."""

import shutil
import subprocess

import numpy as np
import pytest
import soundfile
from audio_files import make, tone

from qse.audio import ffmpeg_input
from qse.audio.ffmpeg import FfmpegDecoder
from qse.audio.reader import open_audio
from qse.errors import QseError

needs_ffmpeg = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="needs ffmpeg")


def run(*arguments) -> bytes:
    # which would take what is on standard input for keys
    line = [
        "ffmpeg",
        "-v",
        "error",
        *map(str, arguments),
    ]
    return subprocess.run(line, check=True, stdin=subprocess.DEVNULL, capture_output=True).stdout


@pytest.fixture
def wav(tmp_path):
    return make(tmp_path / "a.wav", tone(32000, 2), "FLOAT")


@pytest.fixture
def video(tmp_path, wav):
    """Two seconds of a picture with two channels of sound."""
    path = tmp_path / "a.mp4"
    run(
        "-f", "lavfi", "-i", "testsrc=duration=2:size=64x48:rate=10", "-i", wav, "-c:a", "aac", path
    )
    return path


def sound(path) -> np.ndarray:
    with open_audio(path) as source:
        return np.concatenate(list(source.blocks()))


def picture(path) -> bytes:
    """A checksum of the decoded picture."""
    return run("-i", path, "-map", "0:v", "-f", "md5", "-")


@needs_ffmpeg
def test_ffmpeg_source_reads_sound_of_phones(tmp_path, wav):
    run("-i", wav, "-c:a", "alac", tmp_path / "a.m4a")
    with open_audio(tmp_path / "a.m4a") as source:
        layout = source.layout
        assert (layout.sample_rate, layout.channels, layout.format) == (16000, 2, "WAV")
        assert source.media.seconds == pytest.approx(2.0, abs=0.01)
        audio = np.concatenate(list(source.blocks()))
    np.testing.assert_allclose(audio, soundfile.read(wav)[0], atol=1 / 32000)


@needs_ffmpeg
def test_sound_with_a_title_longer_than_the_buffer_of_a_pipe(tmp_path, wav):
    """ffmpeg would write the title before the samples, and its size after them."""
    run("-i", wav, "-metadata", f"title={40_000 * 'a'}", "-c:a", "alac", tmp_path / "a.m4a")
    np.testing.assert_allclose(sound(tmp_path / "a.m4a"), soundfile.read(wav)[0], atol=1 / 32000)


@needs_ffmpeg
def test_ffmpeg_source_refuses_what_has_no_sound(tmp_path, video):
    run("-i", video, "-an", "-c", "copy", tmp_path / "silent.mp4")
    (tmp_path / "words.m4a").write_text("words")
    (tmp_path / "empty.m4a").write_bytes(b"")
    for name, reason in (
        ("silent.mp4", "has no sound track"),
        ("words.m4a", "ffmpeg reads"),
        ("empty.m4a", "is empty"),
        ("missing.m4a", "no such file"),
    ):
        with pytest.raises(QseError, match=rf"{name}.*{reason}"):
            FfmpegDecoder(tmp_path / name)


@needs_ffmpeg
def test_ffmpeg_source_reports_or_salvages_damage(tmp_path, wav):
    run("-i", wav, "-c:a", "aac", "-f", "matroska", tmp_path / "a.mka")
    data = bytearray((tmp_path / "a.mka").read_bytes())
    data[len(data) // 2 : len(data) // 2 + 3000] = bytes(3000)
    (tmp_path / "a.mka").write_bytes(data)
    with (
        pytest.raises(QseError, match=r"a\.mka is damaged: .*salvage=True"),
        open_audio(tmp_path / "a.mka") as source,
    ):
        list(source.blocks())
    with open_audio(tmp_path / "a.mka", salvage=True) as source:
        assert sum(len(block) for block in source.blocks()) > 8000
        assert "s were read" in source.damage


def test_ffmpeg_source_says_that_ffmpeg_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(ffmpeg_input.shutil, "which", lambda name: None)
    (tmp_path / "a.m4a").write_bytes(b"sound")
    with pytest.raises(QseError, match=r"a\.m4a needs the program ffmpeg, which is not installed"):
        open_audio(tmp_path / "a.m4a")


@needs_ffmpeg
@pytest.mark.parametrize("frames", [1, 4])
@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("rate", [8000, 16000])
def test_speex(tmp_path, frames, channels, rate):
    """ffmpeg's own decoder makes other sound of two channels with several frames in a packet, and
    that of version 7 of 16 kHz."""
    times = np.arange(4 * rate) / rate
    voice = 0.3 * np.sin(2 * np.pi * (200 + 75 * times) * times)  # 200 to 800 Hz
    soundfile.write(tmp_path / "a.wav", np.repeat(voice[:, None], channels, 1), rate)
    coding = ("-c:a", "libspeex", "-frames_per_packet", frames, "-compression_level", 8)
    run("-i", tmp_path / "a.wav", *coding, tmp_path / "a.spx")
    heard = sound(tmp_path / "a.spx")
    assert len(heard) == pytest.approx(len(voice), abs=0.1 * rate)
    for each in heard.T:
        bins = np.fft.rfft(each, 8 * rate) * np.conj(np.fft.rfft(voice, 8 * rate))
        likeness = np.fft.irfft(bins).max() / np.linalg.norm(each) / np.linalg.norm(voice)
        assert likeness > 0.8


@needs_ffmpeg
def test_speex_without_libspeex(tmp_path, wav, monkeypatch):
    run("-i", wav, "-c:a", "libspeex", tmp_path / "a.spx")
    monkeypatch.setattr("qse.audio.time_stamps.OF_SPEEX", "libspeex_that_is_missing")
    with pytest.raises(QseError, match=r"has no libspeex.*decode it with speexdec first"):
        sound(tmp_path / "a.spx")

"""Read audio files: everything that is there, or a sentence that says why not."""

import os
from contextlib import suppress

import numpy as np
import pytest
import soundfile
from audio_files import make, outcome, read, tone

from qse.audio.reader import BLOCK, AudioFile
from qse.audio.wav import Wav
from qse.data.recordings import length_and_rate
from qse.errors import QseError


def test_source_reads_mp3_blocks_without_clicks(tmp_path):
    path = make(tmp_path / "a.mp3", tone(2 * BLOCK, 2))
    with AudioFile(path) as source:
        blocks = np.concatenate(list(source.blocks()))
    np.testing.assert_allclose(blocks, soundfile.read(path, dtype="float32")[0], atol=1e-6)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_source_refuses_a_named_pipe(tmp_path):
    os.mkfifo(tmp_path / "a.wav")
    with pytest.raises(QseError, match=r"a.wav is a pipe or a device: .*standard input"):
        AudioFile(tmp_path / "a.wav")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("fork", ["._a.wav", ".AppleDouble/a.wav"])
def test_a_pipe_in_place_of_a_resource_fork_is_not_opened(tmp_path, monkeypatch, fork):
    """libsndfile looks there where it knows no format of the file itself, and would wait."""
    (tmp_path / "a.wav").write_bytes(b"of no format" * 100)
    (tmp_path / fork).parent.mkdir(exist_ok=True)
    os.mkfifo(tmp_path / fork)
    monkeypatch.setattr(soundfile, "SoundFile", lambda path: pytest.fail("it was opened"))
    with pytest.raises(QseError, match=r"a\.wav cannot be read: .* is no regular file"):
        AudioFile(tmp_path / "a.wav")
    with pytest.raises(QseError, match="is no regular file"):
        length_and_rate(tmp_path / "a.wav")


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege")
@pytest.mark.parametrize("fork", ["._a.wav", ".AppleDouble/a.wav", ".AppleDouble"])
def test_a_link_in_place_of_a_resource_fork_is_not_followed(tmp_path, monkeypatch, fork):
    here = tmp_path / "here"
    (here / fork).parent.mkdir(exist_ok=True, parents=True)
    (here / "a.wav").write_bytes(b"of no format" * 100)
    (tmp_path / "private").mkdir()
    (tmp_path / "private/a.wav").write_text("a secret")
    target = tmp_path / "private"
    (here / fork).symlink_to(target if fork == ".AppleDouble" else target / "a.wav")
    monkeypatch.setattr(soundfile, "SoundFile", lambda path: pytest.fail("it was opened"))
    with pytest.raises(QseError, match=r"a\.wav cannot be read: .* is no regular file, or a link"):
        AudioFile(here / "a.wav")
    with pytest.raises(QseError, match="or a link"):
        length_and_rate(here / "a.wav")


def test_the_longest_names_are_read(tmp_path):
    """Those for a resource fork would be too long."""
    path = make(tmp_path / f"{'a' * 251}.wav", tone(1000))
    assert read(path) == 1000
    with AudioFile(path) as source:
        assert sum(map(len, source.blocks())) == 1000


def test_source_reports_missing_permission(tmp_path, monkeypatch):
    def deny(path, *_):
        raise PermissionError(13, "Permission denied", str(path))

    make(tmp_path / "a.wav", tone(1000))
    monkeypatch.setattr(type(tmp_path), "open", deny)  # chmod keeps no administrator out
    with pytest.raises(QseError, match=r"a.wav cannot be read: Permission denied"):
        AudioFile(tmp_path / "a.wav")


def test_source_reports_a_failing_disk(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(5, "Input/output error")

    make(tmp_path / "a.wav", tone(1000))
    monkeypatch.setattr(Wav, "has_more", fail)
    with pytest.raises(QseError, match=r"a\.wav cannot be read: Input/output error"):
        AudioFile(tmp_path / "a.wav")


def test_source_refuses_files_without_sound(tmp_path):
    def check(name: str, content: bytes | None, sentence: str) -> None:
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(QseError, match=f"{name}:? {sentence}"):
            read(tmp_path / name)

    wav = make(tmp_path / "good.wav", tone(0)).read_bytes()
    check("missing.wav", None, "no such file")
    check("empty.wav", b"", "is empty")
    check("text.wav", b"these are words, not sound\n" * 50, "is not an audio file")
    check("start.wav", wav[:20], "is not an audio file")
    check("silent.wav", wav, "holds no samples")
    check("noise.raw", bytes(range(256)), "is not an audio file")
    (tmp_path / "folder.wav").mkdir()
    check("folder.wav", None, "is a folder")
    with pytest.raises(QseError, match="the microphone is empty"):
        AudioFile(tmp_path / "empty.wav", "the microphone")


@pytest.mark.parametrize("at", [100, BLOCK + 100])
def test_source_counts_samples_that_are_not_finite(tmp_path, at):
    audio = tone(3 * BLOCK, 2)
    audio[at, 1] = np.nan
    audio[-1] = np.inf
    path = make(tmp_path / "a.wav", audio, "FLOAT")
    with pytest.raises(
        QseError, match=rf"a.wav holds samples .* 3 in all, .* at {at / 16000:.3f} s in channel 2"
    ):
        read(path)


@pytest.mark.parametrize("rate", [999, 370_543_443])
def test_source_refuses_a_sample_rate_beyond_the_limits(tmp_path, rate):
    """One of a damaged header, from which resampling would take gigabytes."""
    soundfile.write(tmp_path / "a.wav", tone(100), rate)
    with pytest.raises(QseError, match=rf"a.wav claims {rate} samples per second: export it again"):
        read(tmp_path / "a.wav")


def test_source_refuses_undivided_pcm(tmp_path):
    path = make(tmp_path / "a.wav", 32768 * tone(20000), "FLOAT")
    with pytest.raises(QseError, match=r"a.wav has samples of 13\d\d\d, where full scale is 1"):
        read(path)
    assert read(make(tmp_path / "loud.wav", 100 * tone(20000), "FLOAT")) == 20000


def test_source_refuses_a_flac_without_samples(tmp_path):
    path = tmp_path / "a.flac"
    # one channel, 16 bits, an unknown number of samples
    rate_channels_bits = (16000 << 44) + (15 << 36)
    streaminfo = (
        2 * (4096).to_bytes(2, "big") + bytes(6) + rate_channels_bits.to_bytes(8, "big") + bytes(16)
    )
    path.write_bytes(b"fLaC\x80\0\0\x22" + streaminfo)
    with pytest.raises(QseError, match="no samples"), AudioFile(path) as source:
        list(source.blocks())


@pytest.mark.parametrize("behind", [b"TAG" + bytes(125), b"\0", bytes(5000)])
@pytest.mark.parametrize("samples", [5000, 4608])
def test_source_reads_a_flac_with_bytes_behind_its_samples(tmp_path, behind, samples):
    path = make(tmp_path / "a.flac", tone(samples))
    path.write_bytes(path.read_bytes() + behind)
    assert read(path) == samples


def test_source_reads_a_flac_of_unknown_length(tmp_path):
    path = make(tmp_path / "a.flac", tone(5000))
    data = bytearray(path.read_bytes())
    data[21] &= 0xF0  # the 36 bits that count the samples
    data[22:26] = bytes(4)
    path.write_bytes(data)
    with AudioFile(path) as source:
        assert source.samples is None
    assert read(path) == 5000


@pytest.mark.parametrize("suffix", ["au", "snd"])
def test_source_refuses_a_file_without_its_header(tmp_path, suffix):
    """libsndfile takes such a file for mu-law samples at 8 kHz, by its suffix."""
    path = make(tmp_path / f"a.{suffix}", tone(1000), "PCM_16")
    path.write_bytes(b"\0\0\0\0" + path.read_bytes()[4:])
    for salvage in (False, True):
        with pytest.raises(
            QseError, match=rf"a\.{suffix} is not an audio file, or its beginning is damaged"
        ):
            AudioFile(path, salvage=salvage)


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize(
    "form, suffix",
    [
        *(("WAV", "wav"), ("WAVEX", "wav"), ("RF64", "rf64"), ("W64", "w64"), ("AIFF", "aifc")),
        *(("CAF", "caf"), ("AU", "au"), ("VOC", "voc"), ("NIST", "sph")),
    ],
)
def test_intact_files_of_all_codings_of_libsndfile(tmp_path, form, suffix, channels):
    read = []
    for coding in soundfile.available_subtypes(form):
        path = tmp_path / f"{coding}.{suffix}"
        rate = 8000 if coding.startswith("G72") else 16000
        with suppress(soundfile.LibsndfileError):  # some have one channel
            soundfile.write(path, tone(20_000, channels), rate, coding, format=form)
            samples, said = outcome(path)
            read.append(coding)
            assert 20_000 <= samples < 22_048, coding
            assert not said or coding.startswith("DWVW"), (coding, said)
    assert len(read) >= 3

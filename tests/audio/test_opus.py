"""Opus in memory."""

import io
import shutil
import subprocess

import numpy as np
import pytest
import soundfile

from qse.audio import opus
from qse.audio.reader import open_audio
from qse.errors import QseError
from qse.export.streaming import speech_like


def snr(clean, coded):
    clean = clean * 32768
    return 10 * np.log10((clean**2).sum() / ((clean - coded) ** 2).sum())


@pytest.mark.parametrize("rate, kbit, least", [(16000, 20, 8), (16000, 64, 20), (48000, 48, 8)])
def test_opus_keeps_length_and_sound(rate, kbit, least):
    """At the bit rate that was asked for, aligned to the sample."""
    audio = speech_like(10 * rate + 77, rate, 0).astype(np.float32)
    data = opus.encode(audio, rate, kbit)
    coded = opus.decode(data, rate, len(audio))
    assert coded.dtype == np.int16 and coded.shape == audio.shape
    assert snr(audio, coded) > least
    assert 8e-3 * len(data) * rate / len(audio) == pytest.approx(kbit, rel=0.25)


@pytest.mark.skipif(not shutil.which("ffmpeg"), reason="needs ffmpeg")
def test_opus_decodes_as_ffmpeg_decodes_it(tmp_path):
    audio = speech_like(32000, 16000, 0).astype(np.float32)
    data = opus.encode(audio, 16000, 32)
    (tmp_path / "a.opus").write_bytes(data)
    words = ["ffmpeg", "-v", "error", "-i", tmp_path / "a.opus", "-ar", "16000"]
    raw = subprocess.run([*words, "-f", "s16le", "-"], check=True, capture_output=True).stdout
    expected = np.frombuffer(raw, np.int16)
    coded = opus.decode(data, 16000, len(audio))
    assert snr(coded / 32768, expected[: len(coded)]) > 20


@pytest.mark.parametrize("samples", [1, 319, 16001])
def test_opus_of_any_length(samples):
    data = opus.encode(np.zeros(samples, np.float32), 16000, 20)
    assert opus.decode(data, 16000, samples).shape == (samples,)


def test_opus_clips():
    loud = opus.encode(np.sign(np.sin(np.arange(16000) / 20)).astype(np.float32), 16000, 64)
    coded = opus.decode(loud, 16000, 16000).astype(int)
    assert abs(np.diff(coded)).max() < 50000 or coded.max() == 32767


def flac():
    file = io.BytesIO()
    soundfile.write(file, np.zeros(16000), 16000, format="FLAC")
    return file.getvalue()


@pytest.mark.parametrize(
    "data, rate, samples, cause",
    [
        (b"no audio", 16000, 100, "cannot be decoded"),
        (flac(), 16000, 16000, "not Opus"),
        (opus.encode(np.zeros(800, np.float32), 16000, 20), 48000, 800, "not Opus"),
        (opus.encode(np.zeros(800, np.float32), 16000, 20), 16000, 799, "has not 799"),
        (opus.encode(np.zeros(800, np.float32), 16000, 20), 16000, 801, "has not 801"),
        (opus.encode(np.zeros((800, 2), np.float32), 16000, 20), 16000, 800, "not Opus"),
    ],
    ids=["noise", "flac", "rate", "longer", "shorter", "stereo"],
)
def test_opus_refuses_what_was_not_expected(data, rate, samples, cause):
    with pytest.raises(opus.NotDecoded, match=cause):
        opus.decode(data, rate, samples)


def test_opus_header_that_is_cut(tmp_path):
    data = opus.encode(np.zeros(16000, np.float32), 16000, 32)
    for length in range(28, 60):
        (tmp_path / "a.opus").write_bytes(data[:length])
        with pytest.raises(QseError), open_audio(tmp_path / "a.opus"):
            pass

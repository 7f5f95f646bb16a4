"""AIFF files whose header counts other samples, or blocks, than are there."""

import pytest
import soundfile
from audio_files import outcome, tone
from tagged_files import ffmpeg, needs_ffmpeg

CHANNELS = 1  # the last bytes of numbers behind the name of the chunk COMM and its size
SAMPLES = 3
BITS = 7


def changed(path, place: int, bit: int):
    """Change one bit of a number in the chunk COMM."""
    data = bytearray(path.read_bytes())
    data[data.index(b"COMM") + 8 + place] ^= 1 << bit
    path.write_bytes(data)
    return path


@pytest.fixture
def made(tmp_path):
    def make(coding: str, channels: int = 1):
        path = tmp_path / "a.aifc"
        soundfile.write(path, tone(32_000, channels), 16000, coding, format="AIFF")
        assert outcome(path)[0] == 32_000
        return path

    return make


@pytest.mark.parametrize("bit", [6, 7])
def test_fewer_samples_of_gsm(made, bit):
    path = changed(made("GSM610"), SAMPLES - 1, bit)
    assert "and 200 are there" in outcome(path)[1]


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("bit", [0, 1, 2])
def test_other_channels_of_adpcm(made, channels, bit):
    path = made("IMA_ADPCM", channels)
    assert not outcome(path)[1]
    assert outcome(changed(path, CHANNELS, bit))[1]


@needs_ffmpeg
@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("bit", [0, 1, 2])
def test_other_channels_of_adpcm_by_ffmpeg(tmp_path, channels, bit):
    path = tmp_path / "a.aifc"
    inputs = ("-f", "lavfi", "-i", "anoisesrc=d=2:r=16000")
    ffmpeg(*inputs, "-ac", channels, "-c:a", "adpcm_ima_qt", path)
    assert not outcome(path)[1]
    assert outcome(changed(path, CHANNELS, bit))[1]


def test_codings_of_unknown_length(made):
    assert "no file of its kind is checked" in outcome(made("DWVW_16"))[1]


@needs_ffmpeg
def test_what_ffmpeg_alone_reads(made):
    """libsndfile refuses samples of no bits, and other channels than those of the peaks."""
    for coding, place, bit in (("PCM_16", BITS, 4), ("FLOAT", CHANNELS, 2)):
        assert outcome(changed(made(coding), place, bit))[1]

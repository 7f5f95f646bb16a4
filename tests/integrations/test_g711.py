"""G.711 against implementations that are not of this project: libsndfile, and ffmpeg where it is
installed."""

import io
import shutil
import subprocess

import numpy as np
import pytest
import soundfile

from qse.integrations.g711 import A_LAW, MU_LAW

LAWS = {"ULAW": MU_LAW, "ALAW": A_LAW}
FFMPEG = {"ULAW": "mulaw", "ALAW": "alaw"}
EVERY_CODE = bytes(range(256))
EVERY_SAMPLE = np.arange(-32768, 32768).astype(np.int16)


def sndfile_decoded(payload: bytes, law: str) -> np.ndarray:
    file = io.BytesIO(payload)
    about = {"format": "RAW", "subtype": law, "samplerate": 8000, "channels": 1}
    return soundfile.read(file, dtype="int16", **about)[0]


def sndfile_encoded(samples: np.ndarray, law: str) -> np.ndarray:
    file = io.BytesIO()
    soundfile.write(file, samples, 8000, format="RAW", subtype=law)
    return np.frombuffer(file.getvalue(), np.uint8)


def ffmpeg(data: bytes, source: str, target: str) -> bytes:
    if not shutil.which("ffmpeg"):
        pytest.skip("ffmpeg is not installed")
    form = ["-ar", "8000", "-ac", "1"]
    line = ["ffmpeg", "-v", "error", "-f", source, *form, "-i", "-", "-f", target, *form, "-"]
    return subprocess.run(line, input=data, capture_output=True, check=True, timeout=60).stdout


def encoded(law: str) -> np.ndarray:
    return np.frombuffer(LAWS[law].encode(EVERY_SAMPLE / np.float32(32768)), np.uint8)


@pytest.mark.parametrize("law", LAWS)
def test_g711_decodes_as_others_do(law):
    decoded = 32768 * LAWS[law].decode(EVERY_CODE)
    assert decoded.dtype == np.float32
    assert (decoded == sndfile_decoded(EVERY_CODE, law)).all()
    other = ffmpeg(EVERY_CODE, FFMPEG[law], "s16le")
    assert (decoded == np.frombuffer(other, "<i2")).all()


def errors(law: str, codes: np.ndarray) -> np.ndarray:
    return np.abs(LAWS[law].levels.astype(int)[codes] - EVERY_SAMPLE)


@pytest.mark.parametrize("law", LAWS)
def test_g711_encodes_as_libsndfile_does(law):
    """But for negative samples that are a limit between two codes, where no code is nearer."""
    own = encoded(law)
    other = sndfile_encoded(EVERY_SAMPLE, law)
    differs = own != other
    assert differs.sum() == 127 and (EVERY_SAMPLE[differs] < 0).all()
    assert (errors(law, own) <= errors(law, other)).all()


@pytest.mark.parametrize("law", LAWS)
def test_g711_encodes_as_ffmpeg_does_but_at_the_limits(law):
    """ffmpeg takes the nearest code; by the recommendation, limits lie elsewhere where the step
    changes. So codes differ by one, of few samples."""
    own = encoded(law)
    other = np.frombuffer(ffmpeg(EVERY_SAMPLE.tobytes(), "s16le", FFMPEG[law]), np.uint8)
    assert np.mean(own == other) > 0.98
    mask = {"ULAW": 127, "ALAW": 85}[law]
    step = (own ^ mask).astype(int) - (other ^ mask)
    zeros = (LAWS[law].levels[own] == 0) & (LAWS[law].levels[other] == 0)
    assert np.abs(step[~zeros]).max() == 1


@pytest.mark.parametrize("law", LAWS)
def test_g711_keeps_every_code(law):
    """But the negative zero of mu-law, which has the sample of the positive one."""
    codes = np.frombuffer(LAWS[law].encode(LAWS[law].decode(EVERY_CODE)), np.uint8)
    changed = np.flatnonzero(codes != np.arange(256))
    assert list(changed) == ([0x7F] if law == "ULAW" else [])


@pytest.mark.parametrize("law", LAWS)
def test_g711_errors_are_those_of_the_recommendation(law):
    """Half a step: 1/32 of the magnitude, and the step of the lowest segment."""
    error = errors(law, encoded(law))
    magnitude = np.abs(EVERY_SAMPLE.astype(int))
    assert (error <= np.maximum(8, (magnitude + 132) / 32) + 1).all()


@pytest.mark.parametrize("law", LAWS.values())
def test_g711_clips_what_is_too_loud(law):
    loud = law.decode(law.encode(np.array([1.5, -1.5, 1.0, -1.0], np.float32)))
    assert (np.abs(loud) == law.levels.max() / 32768).all()
    assert list(np.sign(loud)) == [1, -1, 1, -1]
    assert law.encode(np.zeros(0)) == b"" and len(law.decode(b"")) == 0

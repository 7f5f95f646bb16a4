"""NIST SPHERE files whose header leaves out what decoders would guess."""

import pytest
from audio_files import make, outcome, tone
from tagged_files import needs_ffmpeg

SAMPLES = 4000


@pytest.mark.parametrize("subtype", ["PCM_S8", "PCM_16", "PCM_24", "PCM_32", "ULAW", "ALAW"])
def test_intact_file(tmp_path, subtype):
    assert outcome(make(tmp_path / "a.sph", tone(SAMPLES), subtype)) == (SAMPLES, "")


@needs_ffmpeg
@pytest.mark.parametrize(
    ("subtype", "key", "what"),
    [
        ("PCM_16", b"sample_byte_format", "byte order"),
        ("PCM_24", b"sample_byte_format", "byte order"),
        ("ALAW", b"sample_coding", "coding"),
        ("ULAW", b"sample_coding", "coding"),
    ],
)
def test_damaged_key(tmp_path, subtype, key, what):
    """Samples in the other byte order are noise, and those of a-law as linear ones too."""
    path = make(tmp_path / "a.sph", tone(SAMPLES), subtype)
    damaged = bytearray(key)
    damaged[-2] ^= 1
    path.write_bytes(path.read_bytes().replace(key, damaged, 1))
    samples, said = outcome(path)
    assert not samples and f"its header states no {what} of its samples" in said

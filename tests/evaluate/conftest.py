"""A small test set, its rows, and the evaluation of one system on it."""

from pathlib import Path

import pytest
from evaluation_files import write
from speech import hiss, voice


@pytest.fixture
def corpus(tmp_path) -> Path:
    """clean/ and noisy/ with five utterances, u0 to u4, ever louder noise."""
    for place in range(5):
        clean = voice(1.0, pitch=100 + 20 * place, start=place + 1)
        write(tmp_path / "clean" / f"u{place}.wav", clean)
        write(
            tmp_path / "noisy" / f"u{place}.wav",
            clean + 0.01 * (place + 1) * hiss(len(clean), 99 + place),
        )
    return tmp_path

"""The example programs run, without an account or a network, and enhance the recording."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

ROOT = Path(__file__).parents[2]


def run_example(framework, source, target):
    line = [sys.executable, str(ROOT / f"examples/{framework}_file.py"), str(source), str(target)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return soundfile.read(source)[0], soundfile.read(target)[0]


def test_example_pipecat_enhances_a_recording(models, tmp_path):
    pytest.importorskip("pipecat")
    before, after = run_example("pipecat", ROOT / "assets/noisy.wav", tmp_path / "out.wav")
    late = 319  # samples: the model of this test delays by 160, gathering a hop of 160 adds 159
    assert len(after) == len(before)
    assert np.abs(after[late:] - before[:-late]).max() < 1e-3


def test_example_livekit_enhances_a_recording(models, tmp_path):
    """LiveKit keeps to the clock, so a busy machine may lose sound: some tenth of a second must
    come through whole."""
    pytest.importorskip("livekit.rtc")
    soundfile.write(
        tmp_path / "in.wav", 0.1 * np.random.default_rng(0).standard_normal(16000), 16000
    )
    before, after = run_example("livekit", tmp_path / "in.wav", tmp_path / "out.wav")
    assert len(after) >= len(before)
    spectrum = np.fft.rfft(after, 1 << 17)
    size = 1600
    found = []
    for part in np.split(before, 10):
        at = int(
            np.argmax(
                np.fft.irfft(spectrum * np.fft.rfft(part, 1 << 17).conj())[: len(after) - size]
            )
        )
        found.append(np.abs(after[at : at + size] - part).max())
    assert min(found) < 1e-3

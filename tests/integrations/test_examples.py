"""The example programs run, without an account or a network, and enhance the recording."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("framework", ["pipecat", "livekit"])
def test_example_enhances_a_recording(models, tmp_path, framework):
    pytest.importorskip("livekit.rtc" if framework == "livekit" else "pipecat")
    noisy, target = ROOT / "assets/noisy.wav", tmp_path / "out.wav"
    line = [sys.executable, str(ROOT / f"examples/{framework}_file.py"), str(noisy), str(target)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    before, _ = soundfile.read(noisy)
    after, _ = soundfile.read(target)
    late = 319  # samples: the model of this test delays by 160, gathering a hop of 160 adds 159
    assert len(after) == len(before)
    assert np.abs(after[late:] - before[:-late]).max() < 1e-3

"""Count how often one `denoise` opens its input and starts ffprobe."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tagged_files import ffmpeg, needs_ffmpeg

ROOT = Path(__file__).parents[2]


@needs_ffmpeg
@pytest.mark.parametrize(
    ("suffix", "opens", "probes"),
    [("wav", 3, 0), ("mp3", 4, 0), ("m4a", 3, 2)],  # ffprobe: of the input and of the result
)
def test_an_input_is_opened_a_few_times(suffix, opens, probes, tmp_path):
    source = tmp_path / f"noisy.{suffix}"
    ffmpeg("-i", ROOT / "assets/noisy.wav", "-t", "1", source)
    line = [sys.executable, ROOT / "tools/code_walk.py", source, f"out.{suffix}"]
    printed = subprocess.run(
        [*line, "--model", "live-tiny"], capture_output=True, text=True, check=True
    ).stdout
    assert int(re.search(r"opens of the input: (\d+)", printed)[1]) == opens
    assert sum(map(int, re.findall(r"ffprobe (\d+)", printed))) == probes

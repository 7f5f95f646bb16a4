"""The table of memory and time of recipes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

TOOL = Path(__file__).parents[2] / "tools/recipe_costs.py"
RECIPE = """
[model]
network = "streaming"
n_fft = 64
hop_length = 32
ranges = [[32, 2]]
channels = [2, 2, 4]
growth = 2
dilations = [1, 2]
blocks = 1
heads = 2
[mix]
segment = 0.25
rooms = 2
[loss]
pesq = 0.0
mrstft = 0.0
[train]
batch = 2
steps = 1200
warmup_steps = 0
"""


def test_recipe_costs_measures_in_a_process_of_its_own(tmp_path):
    (tmp_path / "small.toml").write_text(RECIPE)
    line = [sys.executable, str(TOOL), "--steps", "1", str(tmp_path / "small.toml")]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    head, _, row, _, machine = done.stdout.strip().splitlines()
    cells = dict(zip(head.strip("| ").split(" | "), row.strip("| ").split(" | "), strict=True))
    assert cells["recipe"] == "small" and cells["batch"] == "2 x 0.25 s"
    assert cells["audio s per step"] == "0.5" and cells["steps"] == "1,200"
    assert float(cells["CPU s per step"]) > 0 and 0.1 < float(cells["GiB"]) < 8
    assert "torch" in machine and json.loads(done.stderr.splitlines()[-1])["recipe"] == "small"

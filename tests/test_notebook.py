"""The notebook examples/own_layer.ipynb runs as it stands, but for the minutes of its training."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("pesq")

ROOT = Path(__file__).parents[1]
NOTEBOOK = ROOT / "examples/own_layer.ipynb"
MINUTES = "MINUTES = 2.0"
DISPLAY = """
class Audio:
    def __init__(self, data, rate):
        assert len(data) > 9 * rate

def display(sound):
    print("played")
"""


def test_notebook_runs(tmp_path):
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    assert not any(cell.get("outputs") for cell in cells)
    program = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    assert MINUTES in program
    (tmp_path / "IPython").mkdir()  # stands for Jupyter's
    (tmp_path / "IPython/__init__.py").touch()
    (tmp_path / "IPython/display.py").write_text(DISPLAY)
    (tmp_path / "assets").symlink_to(ROOT / "assets")
    folder = tmp_path / "examples"
    folder.mkdir()
    (folder / "own_layer.py").write_text(program.replace(MINUTES, "MINUTES = 0.02"))
    line = [sys.executable, "own_layer.py"]
    path = f"{tmp_path}:{ROOT}"
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    earlier = folder / "own-layer/run/checkpoint.safetensors"  # the layer was changed since
    earlier.parent.mkdir(parents=True)
    earlier.touch()
    done = subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("played") == 3
    assert (folder / "own-layer/model/model.onnx").is_file()

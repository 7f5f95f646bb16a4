"""qse info: the tables of the paper's models."""

import subprocess
import sys

import pytest

pytest.importorskip("torch")

from qse_papers.networks.paper_models import PAPER_MODELS
from small_networks import PARAMS


def test_info_models_lists_every_model_within_five_percent(command):
    status, out, _ = command("info", "models")
    assert status == 0
    listed = {
        line.split()[0]: float(line.split()[1])
        for line in out.splitlines()
        if line.split()[0] in PARAMS
    }
    assert listed.keys() == PARAMS.keys()
    assert listed == pytest.approx(PARAMS, rel=0.05)
    assert {row.name: row.params for row in PAPER_MODELS} == PARAMS


def test_info_models_without_torch_is_one_sentence():
    block = "import sys; sys.modules['torch'] = None; sys.argv[1:] = ['info', 'models']"
    code = f"{block}; from qse_cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and 'pip install "qse-speech[train]"' in done.stderr

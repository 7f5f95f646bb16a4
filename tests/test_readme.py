"""The README's program runs as it stands, and what it shows is true."""

import re
from pathlib import Path

import numpy as np
import pytest

import qse

ROOT = Path(__file__).parent.parent
PROGRAMS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


@pytest.mark.skipif("live-base" not in qse.available(), reason="no trained model is installed")
def test_readme_program_runs(monkeypatch):
    monkeypatch.chdir(ROOT)
    names: dict = {}
    for program in PROGRAMS:
        exec(program, names)
    assert names["enhanced"].shape == names["noisy"].shape
    assert names["enhanced"].dtype == names["noisy"].dtype
    assert np.square(names["enhanced"]).mean() < np.square(names["noisy"]).mean()  # noise went
    assert len(names["block"]) == 480


def test_pyproject_packs_every_folder():
    import tomllib

    packed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    folders = {str(path.parent.relative_to(ROOT)).replace("/", ".") for path in (ROOT / "qse").rglob("__init__.py")}
    assert folders == set(packed) - {"qse_cli", "qse_models", "qse_recipes"}

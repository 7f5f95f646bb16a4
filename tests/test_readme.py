"""The README's program runs as it stands, and what it shows is true."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import qse

ROOT = Path(__file__).parent.parent
PROGRAMS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


@pytest.mark.skipif("live-base" not in qse.available(), reason="no trained model is installed")
def test_readme_program_runs(tmp_path, monkeypatch):
    (tmp_path / "assets").mkdir()
    # the program writes a file beside it
    shutil.copy(ROOT / "assets/noisy.wav", tmp_path / "assets")
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for program in PROGRAMS:
        exec(program, names)
    assert names["enhanced"].shape == names["noisy"].shape
    assert names["enhanced"].dtype == names["noisy"].dtype
    assert np.square(names["enhanced"]).mean() < np.square(names["noisy"]).mean()  # noise went
    assert len(names["block"]) == 480
    assert names["target"].samefile("assets/noisy-enhanced.wav")


@pytest.mark.skipif("live-tiny" not in qse.available(), reason="no trained model is installed")
def test_commands_work_in_the_order_in_which_they_stand(tmp_path, command, monkeypatch):
    """The second one met the result of the first."""
    text = (ROOT / "README.md").read_text()
    commands = re.findall(r"^    .*?qse denoise (assets/\S+)$", text, re.MULTILINE)
    assert len(commands) == 2
    (tmp_path / "assets").mkdir()
    monkeypatch.chdir(tmp_path)
    for name in commands:
        if not Path(name).exists():
            shutil.copy(ROOT / name, name)
        status, _, err = command("denoise", name, "--model", "live-tiny")
        assert status == 0, err


def test_readme_begins_with_two_commands():
    """Two sentences, then a command that cleans a recording and one that runs the tests, each with
    its environment."""
    beginning = (ROOT / "README.md").read_text().partition("## ")[0]
    commands = re.findall(r"^    (.+)$", beginning, re.MULTILINE)
    assert all(
        command.startswith("python3 -m venv .venv && .venv/bin/pip install ")
        for command in commands
    )
    assert [command.rpartition("&& ")[2] for command in commands] == [
        ".venv/bin/qse denoise assets/noisy.wav",
        ".venv/bin/pytest -n auto",
    ]
    assert all(word in beginning for word in ("python3", "python3-venv", "git"))


def test_contributing_names_tests_tables_and_files_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    fast = re.search(r"^    pytest (.+)$", text, re.MULTILINE)
    assert fast and all((ROOT / path).exists() for path in fast[1].split())
    for name, file in (
        ("TIME_MIXERS", "qse/laboratory.py"),
        ("NETWORKS", "qse/laboratory.py"),
        ("LossConfig", "qse/losses/loss_config.py"),
        ("METRICS", "qse/evaluate/metrics.py"),
        ("COMMANDS", "cli/main.py"),
    ):
        assert f"`{name}`" in text and name in (ROOT / file).read_text()


def test_changelog_has_this_version():
    assert f"## {qse.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_pyproject_packs_every_folder():
    import tomllib

    packed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    folders = {
        str(path.parent.relative_to(ROOT)).replace("/", ".")
        for path in (ROOT / "qse").rglob("__init__.py")
    }
    folders |= {
        "qse_" + str(path.parent.relative_to(ROOT)).replace("/", ".")
        for path in (ROOT / "papers").rglob("__init__.py")
    }
    assert folders == set(packed) - {"qse_cli", "qse_models", "qse_recipes"}

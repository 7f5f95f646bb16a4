"""Processes that are started import nothing from the working folder, which may be one of others."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import qse
from qse.spawning import safe_path

WAYS = {
    "scores": "from qse.evaluate.pool import spread; print(*spread(abs, [-1], 1, abs))",
    "training": "from qse.train.parallel import launch; launch(print, 2)",
    "parts": "from qse.spawning import spawning; p = spawning().Process(target=print); "
    "p.start(); p.join()",
    "memory": "from types import SimpleNamespace; from qse.bench.stream import _peak_memory; "
    "_peak_memory(SimpleNamespace(path='missing', hop_length=1, options={'fast': False}))",
    "wheels": "from qse.train.start_part import _pip; _pip('help')",
}
SCRIPT = (
    "import os\nif __name__ == '__main__':\n    {}\n    print(os.environ.get('PYTHONSAFEPATH'))\n"
)


@pytest.mark.parametrize("way", WAYS)
def test_processes_import_nothing_from_the_working_folder(tmp_path, way):
    if way in ("training", "wheels"):
        pytest.importorskip("torch")
    (work := tmp_path / "work").mkdir()
    for name in ("multiprocessing", "pip", "qse"):
        (work / f"{name}.py").write_text("open('ran', 'w')")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(WAYS[way]))
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    line = [sys.executable, script]
    done = subprocess.run(line, cwd=work, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "None"  # as before
    assert not (work / "ran").exists()


def test_processes_are_started_so():
    package = Path(qse.__file__).parents[1]
    folders = ("qse", "cli", "papers", "tools")
    files = [path for name in folders for path in (package / name).rglob("*.py")]
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    assert not [path for path, text in texts.items() if "get_context(" in text]
    bare = re.compile(r'sys\.executable(?!, "-P")')
    # a program of its own where it is frozen; a script, whose folder is looked in
    found = {path.name for path, text in texts.items() if bare.search(text)}
    assert found == {"service.py", "recipe_costs.py"}


def test_safe_path_lasts_until_the_last_thread_leaves_it(monkeypatch):
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    first = safe_path()
    second = safe_path()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert os.environ["PYTHONSAFEPATH"] == "1"
    second.__exit__(None, None, None)
    assert "PYTHONSAFEPATH" not in os.environ

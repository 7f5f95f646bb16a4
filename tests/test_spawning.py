"""Processes that are started import nothing from the working folder, which may be one of others."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import qse

WAYS = {
    "scores": "from qse.evaluate.pool import spread; print(*spread(abs, [-1], 1, abs))",
    "training": "from qse.train.parallel import launch; launch(print, 2)",
    "parts": "from qse.spawning import spawning; p = spawning().Process(target=print); "
    "p.start(); p.join()",
}
SCRIPT = (
    "import os\nif __name__ == '__main__':\n    {}\n    print(os.environ.get('PYTHONSAFEPATH'))\n"
)


@pytest.mark.parametrize("way", WAYS)
def test_processes_import_nothing_from_the_working_folder(tmp_path, way):
    if way == "training":
        pytest.importorskip("torch")
    (work := tmp_path / "work").mkdir()
    for name in ("multiprocessing", "qse"):
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
    files = [path for name in ("qse", "cli", "papers") for path in (package / name).rglob("*.py")]
    found = {path.name for path in files if "get_context(" in path.read_text(encoding="utf-8")}
    assert found == set()

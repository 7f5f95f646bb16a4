"""A folder that is replaced is there at any moment, with the files of others in it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from qse.audio import replaced_folder

PROGRAM = """
import os, signal, sys
from pathlib import Path
from qse.audio import replaced_folder

left, number = map(int, sys.argv[1:])

def counted(function):
    def run(*arguments, **settings):
        global left
        left -= 1
        if left == 0 and number == signal.SIGKILL:
            os.kill(os.getpid(), number)
        done = function(*arguments, **settings)
        if left == 0:
            os.kill(os.getpid(), number)
        return done
    return run

for name in ("rename", "replace", "link", "rmdir", "unlink"):
    setattr(os, name, counted(getattr(os, name)))
replaced_folder._exchanged = counted(replaced_folder._exchanged)
with replaced_folder.replaced_folder(Path("mine"), ["model"]) as new:
    (new / "model").write_text("new")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs renameat2")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("step", range(1, 12))
def test_a_process_that_is_stopped_leaves_all_files_under_their_names(tmp_path, step, number):
    (mine := tmp_path / "mine").mkdir()
    files = {"model": "old", "notes": "own", "inner/sound": "own"}
    (mine / "inner").mkdir()
    for name, text in files.items():
        (mine / name).write_text(text)
    words = [sys.executable, "-c", PROGRAM, str(step), str(int(number))]
    subprocess.run(words, cwd=tmp_path, check=False, stderr=subprocess.DEVNULL)
    found = {}
    for path in filter(Path.is_file, mine.rglob("*")):
        found[path.relative_to(mine).as_posix()] = path.read_text()
    assert found in (files, files | {"model": "new"})


def test_files_and_folders_that_are_not_replaced_stay(tmp_path, monkeypatch):
    for exchanged in (replaced_folder._exchanged, lambda one, other: False):
        monkeypatch.setattr(replaced_folder, "_exchanged", exchanged)
        mine = tmp_path / exchanged.__name__
        (mine / "inner").mkdir(parents=True)
        (mine / "inner" / "notes").write_text("own")
        (mine / "model").write_text("old")
        (mine / "old").write_text("old")
        with replaced_folder.replaced_folder(mine, ["model", "old"]) as new:
            (new / "model").write_text("new")
        assert (mine / "inner" / "notes").read_text() == "own"
        assert (mine / "model").read_text() == "new" and not (mine / "old").exists()
        assert not [name for name in os.listdir(tmp_path) if name.startswith(".qse-")]

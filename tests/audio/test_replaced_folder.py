"""A folder that is replaced is there at any moment, with the files of others in it."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import os, signal, sys
from pathlib import Path
from qse.audio.replaced_folder import replaced_folder

left = int(sys.argv[1])

def counted(function):
    def run(*arguments, **settings):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **settings)
    return run

for module, name in ((os, "rename"), (os, "replace"), (os, "link"), (os, "rmdir")):
    setattr(module, name, counted(getattr(module, name)))
with replaced_folder(Path("mine"), ["model"]) as new:
    (new / "model").write_text("new")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs renameat2")
@pytest.mark.parametrize("step", range(7))
def test_a_process_that_is_killed_leaves_all_files_under_their_names(tmp_path, step):
    (mine := tmp_path / "mine").mkdir()
    files = {"model": "old", "notes": "own", "sound": "own"}
    for name, text in files.items():
        (mine / name).write_text(text)
    subprocess.run([sys.executable, "-c", PROGRAM, str(step)], cwd=tmp_path, check=False)
    found = {path.name: path.read_text() for path in mine.iterdir()}
    assert found in (files, files | {"model": "new"})


def test_files_and_folders_that_are_not_replaced_stay(tmp_path, monkeypatch):
    from qse.audio import replaced_folder

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

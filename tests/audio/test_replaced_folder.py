"""Files of a folder that are replaced are there at any moment; others, and the folder, stay."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from qse.audio.replaced_folder import replaced_folder

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
with replaced_folder.replaced_folder(Path("mine"), ["left", "model", "second"]) as new:
    (new / "model").write_text("new")
    (new / "second").write_text("new")
"""
OWN = {"notes": "own", "inner/sound": "own"}
OLD = {"model": "old", "second": "old", "left": "old", **OWN}
NEW = {"model": "new", "second": "new", **OWN}


def content(folder: Path) -> dict[str, str]:
    files = filter(Path.is_file, folder.rglob("[!.]*"))
    return {path.relative_to(folder).as_posix(): path.read_text() for path in files}


@pytest.fixture
def mine(tmp_path):
    folder = tmp_path / "mine"
    (folder / "inner").mkdir(parents=True)
    for name, text in OLD.items():
        (folder / name).write_text(text)
    return folder


@pytest.mark.skipif(os.name != "posix", reason="needs signals that end a process")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("step", range(1, 12))
def test_a_process_that_is_stopped_leaves_whole_files_under_their_names(mine, step, number):
    words = [sys.executable, "-c", PROGRAM, str(step), str(int(number))]
    subprocess.run(words, cwd=mine.parent, check=False, stderr=subprocess.DEVNULL)
    found = content(mine)
    assert found in (OLD, NEW) or number == signal.SIGKILL
    assert OWN.items() <= found.items() and {"model", "second"} <= found.keys()
    assert found == NEW | {"model": found["model"], "second": found["second"]} | (
        {"left": "old"} if "left" in found else {}
    )


def test_files_that_come_meanwhile_and_the_folder_itself_stay(mine):
    mine.chmod(0o700)
    before = mine.stat()
    with replaced_folder(mine, ["model", "second", "left"]) as new:
        for name in ("model", "second"):
            (new / name).write_text("new")
        (mine / "late").write_text("own")
    assert content(mine) == NEW | {"late": "own"}
    after = mine.stat()
    assert (after.st_mode, after.st_ino) == (before.st_mode, before.st_ino)
    assert os.listdir(mine.parent) == ["mine"]


def test_a_failure_in_the_middle_puts_former_files_back(mine, monkeypatch):
    """As on Windows, where a program has one of the files open."""
    replace = os.replace

    def refusing(part, name, **settings):
        if str(name).endswith("model") and not refused:
            refused.append(name)
            raise PermissionError(13, "in use")
        replace(part, name, **settings)

    refused = []
    monkeypatch.setattr(os, "replace", refusing)
    with (
        pytest.raises(PermissionError),
        replaced_folder(mine, ["model", "second", "left"]) as new,
    ):
        for name in ("model", "second"):
            (new / name).write_text("new")
    assert content(mine) == OLD and refused


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), KeyboardInterrupt()])
def test_former_files_that_cannot_be_put_back_are_kept_elsewhere(mine, monkeypatch, error):
    """As on a disk that fails, or after two signals: one file is replaced, no other one can be."""
    replace = os.replace
    done = []

    def failing(part, name, **settings):
        done.append(name)
        if len(done) > 1:
            raise error
        replace(part, name, **settings)

    monkeypatch.setattr(os, "replace", failing)
    with (
        pytest.raises(OSError, match="the former files could not be put back") as caught,
        replaced_folder(mine, ["model", "second", "left"]) as new,
    ):
        for name in ("model", "second"):
            (new / name).write_text("new")
    kept = Path(caught.value.strerror.rpartition(" ")[2])
    assert content(kept) == {name: "old" for name in ("model", "second", "left")}
    shutil.rmtree(kept.parent)

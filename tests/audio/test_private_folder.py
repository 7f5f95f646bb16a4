"""Temporary folders end with the context or the process that made them, not with its children."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import os, sys
from qse.audio.private_folder import private_folder

context = private_folder()
folder = context.__enter__()
(folder / "file").touch()
if len(sys.argv) > 1 and os.fork() == 0:
    sys.exit()
if len(sys.argv) > 1:
    os.wait()
    assert (folder / "file").exists()
print(folder)
"""


@pytest.mark.parametrize("words", [[], ["fork"]])
def test_temporary_folder_ends_with_its_process(words):
    if words and not hasattr(os, "fork"):
        pytest.skip("needs fork")
    line = [sys.executable, "-c", PROGRAM, *words]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() and not os.path.exists(done.stdout.strip())

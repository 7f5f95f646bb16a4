"""The pure modules of the page, tested in Node.js; tests/web/node holds the tests."""

import shutil
import subprocess
from pathlib import Path

import pytest

TESTS = sorted((Path(__file__).parent / "node").glob("*.test.mjs"))
LEAST = (20, 19)  # reads .js files as modules where they are modules


@pytest.fixture(scope="module")
def node():
    program = shutil.which("node")
    if program is None:
        pytest.skip("needs Node.js")
    version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    if tuple(map(int, version.strip("v\n").split(".")[:2])) < LEAST:
        pytest.skip(f"needs Node.js {LEAST[0]}.{LEAST[1]}, not {version}")
    return program


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.name.partition(".")[0])
def test_modules_in_node(node, path):
    done = subprocess.run(
        [node, "--no-warnings", "--test", str(path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout

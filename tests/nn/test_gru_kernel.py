"""Start the tests of the Triton kernel in processes of their own: Triton reads TRITON_INTERPRET
when it is imported.

Where Triton is not installed they are skipped; with QSE_REQUIRE_TRITON they fail there.
"""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("torch")

FOLDER = Path(__file__).parent


@pytest.mark.skipif(
    not find_spec("triton") and not os.environ.get("QSE_REQUIRE_TRITON"),
    reason="Triton is not installed",
)
@pytest.mark.parametrize(("name", "interpret"), [("interpreted", "1"), ("compiled", "0")])
def test_kernel(tmp_path, name, interpret):
    tests = FOLDER / f"{name}_gru_kernel.py"
    environment = {
        **os.environ,
        "TRITON_INTERPRET": interpret,
        "TRITON_CACHE_DIR": str(tmp_path / "triton"),
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests)],
        cwd=FOLDER.parents[1],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "skipped" not in done.stdout, done.stdout

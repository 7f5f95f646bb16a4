"""Pool of processes that may crash."""

import subprocess
import sys

import pytest
from processes import ends_at_three

from qse.errors import QseError
from qse.evaluate import pool


def test_spread_survives_crashed_tasks():
    results = list(pool.spread(ends_at_three, range(6), 2, lambda task: -task))
    assert sorted(results) == [-3, 0, 1, 2, 4, 5]


def test_a_script_without_a_main_guard_is_told_so(tmp_path):
    """Each process runs the script again, and ends before its first task."""
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np\n"
        "from qse.evaluate import score\n"
        "signal = np.random.default_rng(0).standard_normal(16000)\n"
        "score([(signal, signal)], metrics=['si_sdr'], jobs=2)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=100)
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode and last.startswith("qse.errors.QseError: no process for the scores")
    assert 'needs `if __name__ == "__main__":`' in last and "PESQ" not in done.stderr


def test_a_function_of_this_process_alone_is_refused():
    with pytest.raises(QseError, match=r"cannot be sent .*take jobs=0, or define it at the top"):
        list(pool.spread(lambda task: task, [1], 1, lambda task: 0))

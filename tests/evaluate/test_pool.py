"""Pool of processes that may crash."""

import os
import subprocess
import sys

import pytest
from processes import ends_at_three, is_running
from waiting import until

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


def test_tasks_are_taken_while_others_run():
    """At most twice as many as there are processes wait: they may be long signals."""
    taken = []

    def tasks():
        for number in range(10):
            taken.append(number)
            yield number

    results = pool.spread(abs, tasks(), 1, lambda task: 0)
    next(results)
    assert len(taken) <= 4
    assert len(list(results)) == 9


@pytest.mark.skipif(os.name != "posix", reason="looks for processes by signals")
def test_processes_end_with_a_parent_that_is_killed(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from processes import tells_its_process\n"
        "from qse.evaluate import pool\n"
        "if __name__ == '__main__':\n"
        f"    list(pool.spread(tells_its_process, [{str(tmp_path / 'number')!r}], 1, print))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(__file__) + "/.."}
    parent = subprocess.Popen([sys.executable, script], env=environment)
    number = tmp_path / "number"
    until(lambda: number.is_file() and number.read_text().endswith("\n"), 60)
    parent.kill()
    parent.wait()
    until(lambda: not is_running(int(number.read_text())), 30)

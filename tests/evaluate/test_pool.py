"""Pool of processes that may crash."""

import os

from qse.evaluate import pool


def shaky(task: int) -> int:
    if task == 3:
        os._exit(1)  # as a fault in compiled code would
    return task


def test_spread_survives_crashed_tasks():
    results = list(pool.spread(shaky, range(6), 2, lambda task: -task))
    assert sorted(results) == [-3, 0, 1, 2, 4, 5]

"""Pool of processes that may crash."""

from processes import ends_at_three

from qse.evaluate import pool


def test_spread_survives_crashed_tasks():
    results = list(pool.spread(ends_at_three, range(6), 2, lambda task: -task))
    assert sorted(results) == [-3, 0, 1, 2, 4, 5]

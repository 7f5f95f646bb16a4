"""The scheduling priority around a session."""

import gc
import os

import pytest

from qse.live.priority import steady

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_setscheduler"), reason="needs Linux's scheduler functions"
)


@pytest.mark.parametrize("nice, raised", [(3, -11), (-15, -15)])
def test_steady_restores_the_nice_value_where_real_time_is_refused(monkeypatch, nice, raised):
    def refuse(*_):
        raise PermissionError

    values = []
    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    monkeypatch.setattr(os, "getpriority", lambda which, who: nice)
    monkeypatch.setattr(os, "setpriority", lambda which, who, value: values.append(value))
    with steady():
        assert values == [raised]
    assert values == [raised, nice]


def test_steady_keeps_what_is_there_out_of_garbage_collections():
    assert gc.get_freeze_count() == 0
    with steady(urgent=False):
        assert gc.get_freeze_count() > 1000
    assert gc.get_freeze_count() == 0

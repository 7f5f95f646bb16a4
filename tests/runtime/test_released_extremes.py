"""Released graphs on unusual signals; tests/soak/numerical.py prints the same as a table, for minutes of them."""

import pytest
from soak.numerical import GRAPHS, rows


@pytest.mark.parametrize("name, graphs", [("live-tiny", GRAPHS), ("live-base", (16000,)), ("live-large", (16000,))])
def test_released_graph_is_quiet_and_recovers(name, graphs):
    wrong = [row for row in rows(name, 0.5, graphs) if not row[-1]]
    assert not wrong

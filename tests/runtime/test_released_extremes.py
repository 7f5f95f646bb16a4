"""Released graphs on unusual signals; tests/soak/numerical.py prints the same as a table, for
minutes of them."""

import pytest
from soak.numerical import cells, rates

GRAPHS = [("live-tiny", 16000), ("live-tiny", 48000), ("live-base", 16000), ("live-large", 16000)]


@pytest.mark.parametrize("name, graph", GRAPHS)
def test_released_graph_is_quiet_and_recovers(name, graph):
    assert [cell for cell in cells(name, graph, 0.5) if not cell[-1]] == []


def test_released_graphs_are_quiet_at_every_rate():
    assert rates("live-tiny") < -60

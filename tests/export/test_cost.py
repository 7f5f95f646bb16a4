"""Operations counted in a network, and the cost of a graph."""

import pytest

torch = pytest.importorskip("torch")

from small_networks import streaming

from qse.export.cost import macs_per_second, measure_cost


@pytest.mark.parametrize("algebra", ["quaternion", "real", "phm"])
def test_macs_per_second_in_every_algebra(algebra):
    assert macs_per_second(streaming(algebra=algebra)) == pytest.approx(
        macs_per_second(streaming()), rel=0.02
    )


def test_macs_per_second_counts_an_lstm():
    # of a second; channels are real ones
    frames = 500
    bands = 4
    channels = 16
    gate = frames * bands * 2 * channels**2  # from the input and from the state
    more = macs_per_second(streaming(time_mixer=["lstm"])) - macs_per_second(
        streaming(time_mixer=["gru"])
    )
    assert more == pytest.approx(gate, rel=0.01)


def test_measure_cost_of_a_streaming_graph(delay):
    network = streaming()
    cost = measure_cost(network, delay, seconds=0.1)
    assert cost.params == sum(p.numel() for p in network.parameters())
    assert cost.hop.state_bytes == 4 * delay.latency  # its state are the samples that it delays
    assert 0 < cost.hop.p50 <= cost.hop.p99

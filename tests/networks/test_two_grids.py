"""Two grids of frames: the streaming contract, the mean of the network's outputs, latency."""

import pytest

torch = pytest.importorskip("torch")

from small_networks import streaming
from torch.nn.functional import pad

from qse.errors import QseError
from qse.networks.two_grids import TwoGrids
from qse.nn import contract

VARIANTS = {
    "plain": {},
    "short overlap": {"overlap": 8},
    "look-ahead": {"look_ahead": 4, "look_ahead_blocks": (0,)},
}


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_two_grids_stream_by_half_a_hop(changes):
    network = TwoGrids(streaming(**changes))
    hop = network.config.hop_length
    assert 2 * hop == network.network.config.hop_length
    contract.verify_stream(network, 0.3 * torch.randn(2, 23 * hop), dim=1, unit=hop)


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
@torch.no_grad()
def test_two_grids_are_the_mean_over_two_shifts(changes):
    network = streaming(**changes).double().eval()
    half = network.config.hop_length // 2
    noisy = 0.3 * torch.randn(2, 1000, dtype=torch.float64)
    shifted = network.enhance(pad(noisy, (half, 0)))[:, half:]
    mean = (network.enhance(noisy) + shifted) / 2
    torch.testing.assert_close(TwoGrids(network).enhance(noisy), mean)
    assert not torch.allclose(mean, network.enhance(noisy))


def test_two_grids_have_the_latency_of_one():
    network = streaming(look_ahead=4, look_ahead_blocks=(0,))
    two = TwoGrids(network)
    assert two.latency + two.config.hop_length == network.latency + network.config.hop_length


@torch.no_grad()
def test_two_grids_work_at_a_lower_rate():
    network = TwoGrids(
        streaming(sample_rate=48000, n_fft=192, hop_length=96, ranges=((16, 1), (16, 4), (64, 16)))
    )
    low = network.at(16000)
    assert low.config.sample_rate == 16000 and low.config.hop_length == 16
    assert low.enhance(torch.zeros(1, 200)).shape == (1, 200)


def test_two_grids_need_an_even_hop():
    with pytest.raises(QseError, match="hop_length = 31: two grids of frames need an even one"):
        TwoGrids(streaming(hop_length=31))

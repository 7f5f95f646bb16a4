"""Layers that read frames ahead."""

import pytest

torch = pytest.importorskip("torch")

from qse.nn import contract
from qse.nn.delay import Delay
from qse.nn.look_ahead import LookAhead, tap_positions


def trained(frames: int = 5, channels: int = 3) -> LookAhead:
    """A layer that adds something, with biases and gains that are not those of a fresh one."""
    torch.manual_seed(0)
    layer = LookAhead(channels, frames)
    for parameter in layer.parameters():
        parameter.data += 0.3 * torch.randn_like(parameter)
    return layer.double()


@pytest.mark.parametrize("frames", [1, 3, 16])
def test_delay_keeps_the_contract_in_both_memory_orders(frames):
    x = torch.randn(2, 4, 3, 20, 5)
    contract.verify_stream(Delay(frames), x, dim=3)
    innermost = x.movedim((-2, -1), (1, 2)).contiguous().movedim((1, 2), (-2, -1))
    contract.verify_stream(Delay(frames), innermost, dim=3)
    y, _ = Delay(frames)(x)
    assert torch.equal(y[..., frames:, :], x[..., :-frames, :])
    assert not y[..., :frames, :].any()


@pytest.mark.parametrize("frames", [1, 2, 5, 8])
def test_look_ahead_keeps_the_contract(frames):
    contract.verify_stream(trained(frames), torch.randn(2, 20, 3, 4, 3), dim=1)


def test_taps_are_read_at_powers_of_two():
    assert [tap_positions(frames) for frames in (1, 3, 4, 16)] == [
        [0, 1],
        [0, 1, 2],
        [0, 1, 2, 4],
        [0, 1, 2, 4, 8, 16],
    ]


@torch.no_grad()
def test_look_ahead_is_its_formula():
    layer = trained(4)
    x = torch.randn(1, 12, 2, 4, 3, dtype=torch.float64)
    y, _ = layer(x)
    moment = 5
    hidden = sum(layer.taps[str(ahead)](layer.norm(x[:, moment + ahead])) for ahead in (0, 1, 2, 4))
    expected = x[:, moment] + layer.out(torch.nn.functional.silu(hidden))
    torch.testing.assert_close(y[:, moment + 4], expected)


@torch.no_grad()
def test_a_new_layer_only_delays():
    x = torch.randn(2, 9, 3, 4, 3)
    y, _ = LookAhead(3, 4)(x)
    assert torch.equal(y[:, 4:], x[:, :5])


@torch.no_grad()
def test_less_look_ahead_leaves_out_the_farther_taps():
    layer = trained(8)
    x = torch.randn(1, 12, 2, 4, 3, dtype=torch.float64)
    less = layer.at(3)
    for ahead in ("4", "8"):
        layer.taps[ahead].weight.zero_()
    y, _ = layer(x)
    near, _ = less(x)
    torch.testing.assert_close(near[:, 3:], torch.cat([y[:, 8:], near[:, 7:]], 1)[:, :9])
    assert less.taps["2"].weight is layer.taps["2"].weight
    assert set(less.taps) == {"0", "1", "2"}

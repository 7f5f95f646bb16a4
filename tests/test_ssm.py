"""State spaces: the streaming law, scans against the recurrences they stand for, and the paper's parameter counts."""

import math

import pytest

torch = pytest.importorskip("torch")

import contract

from qse.nn.linear import QuaternionLinear
from qse.nn.quaternion import hamilton_product, modulus
from qse.nn.research.lru import QuaternionLRU
from qse.nn.research.scan import decay_scan, turn_scan
from qse.nn.research.ssm import DECAY_BIAS, QuaternionSSM, ShortConv
from qse.nn.research.token import GlobalToken


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def close(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("layer", [
    ShortConv(4), QuaternionSSM(4), QuaternionLRU(4), GlobalToken(3, 4, 2, window=5),
], ids=lambda layer: type(layer).__name__)  # fmt: skip
def test_mixers_keep_the_streaming_law(layer):
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    contract.verify_stream(layer, draw(6, 23, 4, 4), dim=1)


@pytest.mark.parametrize("frames", [1, 2, 3, 8, 13])
def test_scans_are_their_recurrences(frames):
    decay, x, start = draw(2, frames, 4, 3).sigmoid(), draw(2, frames, 4, 3, seed=1), draw(2, 4, 3, seed=2)
    turn = 0.6 * draw(4, 3, seed=3)
    decayed, turned = decay_scan(decay, x, start), turn_scan(turn, x, start)
    h, g = start, start
    for t in range(frames):
        h, g = decay[:, t] * h + x[:, t], hamilton_product(g, turn, -2) + x[:, t]
        close(decayed[:, t], h)
        close(turned[:, t], g)


def test_ssm_is_the_recurrence_of_its_four_heads():
    """Section 3.2, step by step, each head with projections of its own, frames before the beginning being zero."""
    torch.manual_seed(0)
    heads, layer, x = 4, QuaternionSSM(8).double(), draw(1, 6, 4, 8)
    with torch.no_grad():
        layer.conv.bias.copy_(draw(32, seed=1))

    def head(linear: QuaternionLinear, start: int, frame: torch.Tensor) -> torch.Tensor:
        small = QuaternionLinear(8, 2).double()
        small.load_state_dict(
            {"weight": linear.weight[:, start : start + 2], "bias": linear.bias[:, start : start + 2]}
        )
        return small(frame)

    taps, state, expected = layer.conv.weight.view(4, 8, 4), torch.zeros(1, 4, 8).double(), []
    for t in range(6):
        window = [x[:, t - 3 + n] if t - 3 + n >= 0 else torch.zeros_like(x[:, 0]) for n in range(4)]
        u = sum(taps[..., n] * window[n] for n in range(4)) + layer.conv.bias.view(4, 8)
        u, parts = u * u.sigmoid(), []
        for n in range(heads):
            k, v, q = (head(layer.project, 8 * part + 2 * n, u) for part in range(3))
            decay = torch.exp(-torch.nn.functional.softplus(-head(layer.gate, 2 * n, u)))
            h = decay * state[..., 2 * n : 2 * n + 2] + hamilton_product(k, v, 1)
            parts.append((h, hamilton_product(q, h, 1)))
        state = torch.cat([h for h, _ in parts], -1)
        expected.append(layer.out(torch.cat([y for _, y in parts], -1)))
    y, after = layer(x)
    close(y, torch.stack(expected, 1))
    close(after["scan"], state)


def test_ssm_begins_with_long_memory():
    layer = QuaternionSSM(4)
    assert (layer.gate.bias == DECAY_BIAS).all()
    assert 1 / (1 + math.exp(-DECAY_BIAS)) == pytest.approx(0.95, abs=1e-3)


def test_ssm_knows_the_order_of_its_input():
    x = draw(1, 5, 4, 4)
    layer = QuaternionSSM(4, kernel=1).double()
    assert (layer(x)[1]["scan"] - layer(x.flip(1))[1]["scan"]).abs().max() > 1e-3


def test_lru_is_its_recurrence_by_hand():
    torch.manual_seed(0)
    layer, x = QuaternionLRU(3).double(), draw(2, 7, 4, 3)
    eigenvalue = layer.eigenvalue()
    h, (y, after) = torch.zeros(2, 4, 3).double(), layer(x)
    for t in range(7):
        h = hamilton_product(h, eigenvalue, -2) + (1 - modulus(eigenvalue, 0) ** 2).sqrt() * layer.into(x[:, t])
        o = layer.out(h) + layer.skip * x[:, t]
        close(y[:, t], o * o.sigmoid())
    close(after, h)


def test_lru_forgets_whatever_its_parameters_are():
    layer = QuaternionLRU(200)
    assert ((modulus(layer.eigenvalue(), 0) > 0.499) & (modulus(layer.eigenvalue(), 0) < 0.991)).all()
    with torch.no_grad():
        layer.rate.copy_(4 * torch.randn(200))
        layer.turn.copy_(10 * torch.randn(3, 200))
    assert (modulus(layer.eigenvalue(), 0) <= 1).all()


def test_lru_is_differentiable_where_it_does_not_turn():
    layer = QuaternionLRU(2)
    with torch.no_grad():
        layer.turn.zero_()
    layer(torch.randn(1, 5, 4, 2))[0].sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in layer.parameters())


def test_token_is_shared_by_all_bands_and_by_no_other_stream():
    torch.manual_seed(0)
    layer, x = GlobalToken(3, 4, 2, window=5).double(), draw(6, 9, 4, 4)
    y, other = layer(x)[0], x.clone()
    other[1, 2] += 1  # band 1 of the first of two streams, frame 2
    changed = (layer(other)[0] - y).abs().amax((2, 3)) > 1e-9  # 6, 9
    assert not changed[3:].any() and not changed[:, :2].any()
    assert changed[:3, 2:7].all()  # every band, as long as the window reaches back
    assert not changed[:, 7:].any()

"""The selective state space against its recurrence; the streaming contract."""

import math

import pytest

torch = pytest.importorskip("torch")

import contract
from tensors import as_trained, close, draw

from qse.nn.linear import QuaternionLinear
from qse.nn.quaternion import hamilton_product
from qse.nn.research.ssm import DECAY_BIAS, QuaternionSSM, ShortConv


@pytest.mark.parametrize(
    "layer", [ShortConv(4), QuaternionSSM(4)], ids=lambda layer: type(layer).__name__
)
def test_ssm_streams(layer):
    contract.verify_stream(as_trained(layer), draw(6, 23, 4, 4), dim=1)


def test_ssm_is_the_recurrence_of_its_four_heads():
    """Section 3.2, step by step, each head with projections of its own, frames before the beginning being zero."""
    torch.manual_seed(0)
    heads, layer, x = 4, QuaternionSSM(8).double(), draw(1, 6, 4, 8)
    with torch.no_grad():
        layer.conv.bias.copy_(draw(32, seed=1))

    def head(linear: QuaternionLinear, start: int, frame: torch.Tensor) -> torch.Tensor:
        small = QuaternionLinear(8, 2).double()
        small.load_state_dict(
            {
                "weight": linear.weight[:, start : start + 2],
                "bias": linear.bias[:, start : start + 2],
            }
        )
        return small(frame)

    taps, state, expected = layer.conv.weight.view(4, 8, 4), torch.zeros(1, 4, 8).double(), []
    for t in range(6):
        window = [
            x[:, t - 3 + n] if t - 3 + n >= 0 else torch.zeros_like(x[:, 0]) for n in range(4)
        ]
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


def test_ssm_begins_with_slow_decay():
    layer = QuaternionSSM(4)
    assert (layer.gate.bias == DECAY_BIAS).all()
    assert 1 / (1 + math.exp(-DECAY_BIAS)) == pytest.approx(0.95, abs=1e-3)


def test_ssm_depends_on_the_order_of_frames():
    x = draw(1, 5, 4, 4)
    layer = QuaternionSSM(4, kernel=1).double()
    assert (layer(x)[1]["scan"] - layer(x.flip(1))[1]["scan"]).abs().max() > 1e-3

"""The selective state space against its recurrence; the streaming contract."""

import math

import pytest

torch = pytest.importorskip("torch")

from qse_papers.nn.ssm import DECAY_BIAS, QuaternionSSM, ShortConv
from tensors import as_trained, close, draw

from qse.nn import contract
from qse.nn.linear import QuaternionLinear
from qse.nn.quaternion import hamilton_product


@pytest.mark.parametrize(
    "layer", [ShortConv(4), QuaternionSSM(4)], ids=lambda layer: type(layer).__name__
)
def test_ssm_streams(layer):
    contract.verify_stream(as_trained(layer), draw(6, 23, 4, 4), dim=1)


def test_ssm_is_the_recurrence_of_its_four_heads():
    """Section 3.2, step by step, each head with projections of its own.

    Frames before the beginning are zero.
    """
    torch.manual_seed(0)
    heads = 4
    layer = QuaternionSSM(8).double()
    x = draw(1, 6, 4, 8)
    with torch.no_grad():
        layer.conv.bias.copy_(draw(32, seed=1))

    def head(linear: QuaternionLinear, start: int, frame: torch.Tensor) -> torch.Tensor:
        small = QuaternionLinear(8, 2).double()
        rows = slice(start, start + 2)
        small.load_state_dict({"weight": linear.weight[:, rows], "bias": linear.bias[:, rows]})
        return small(frame)

    padded = torch.cat([torch.zeros(1, 3, 4, 8).double(), x], 1)
    taps = layer.conv.weight.view(4, 8, 4)
    state = torch.zeros(1, 4, 8).double()
    expected = []
    for t in range(6):
        u = layer.conv.bias.view(4, 8)
        for n in range(4):
            u = u + taps[..., n] * padded[:, t + n]
        u = u * u.sigmoid()
        states = []
        outputs = []
        for n in range(heads):
            k = head(layer.project, 2 * n, u)
            v = head(layer.project, 8 + 2 * n, u)
            q = head(layer.project, 16 + 2 * n, u)
            decay = torch.exp(-torch.nn.functional.softplus(-head(layer.gate, 2 * n, u)))
            h = decay * state[..., 2 * n : 2 * n + 2] + hamilton_product(k, v, 1)
            states.append(h)
            outputs.append(hamilton_product(q, h, 1))
        state = torch.cat(states, -1)
        expected.append(layer.out(torch.cat(outputs, -1)))
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

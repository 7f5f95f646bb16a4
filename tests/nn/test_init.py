"""Initial weights against the moments and distributions that Parcollet et al.

derive (Eqs. 18-24).
"""

import math

import pytest

torch = pytest.importorskip("torch")


from qse.nn.conv import CausalConv2d, QuaternionConv2d
from qse.nn.init import quaternion_init_, sigma
from qse.nn.linear import QuaternionLinear
from qse.nn.quaternion import hamilton_matrix, modulus
from qse.nn.recurrent import QuaternionGRU

OUT = 160
INTO = 320
each_criterion = pytest.mark.parametrize("criterion", ["glorot", "he"])


def weights(criterion="glorot", shape=(OUT, INTO)) -> torch.Tensor:
    """Return (4, n), float64: about 50 000 quaternions, so that a mean of squares is known to half
    a per cent."""
    torch.manual_seed(0)
    return quaternion_init_(torch.empty(4, *shape, dtype=torch.float64), criterion).flatten(1)


def test_sigma_of_both_criteria():
    assert sigma(12, 20) == pytest.approx(1 / math.sqrt(2 * (12 + 20)))  # Eq. 23
    assert sigma(12, 20, "he") == pytest.approx(1 / math.sqrt(2 * 12))  # Eq. 24


def test_quaternion_init_refuses_unknown_criteria():
    with pytest.raises(ValueError, match=r"lecun.*glorot, he"):
        quaternion_init_(torch.empty(4, 1, 1), "lecun")


@each_criterion
def test_quaternion_init_mean_squared_modulus(criterion):  # Eq. 22
    found = modulus(weights(criterion), 0).square().mean()
    assert found / (4 * sigma(INTO, OUT, criterion) ** 2) == pytest.approx(1, abs=0.02)


def test_quaternion_init_counts_kernel_positions():
    found = modulus(weights(shape=(40, 60, 2, 9)), 0).square().mean()
    assert found / (4 * sigma(60 * 18, 40 * 18) ** 2) == pytest.approx(1, abs=0.02)


# Eqs. 34-35, by the Kolmogorov-Smirnov distance
def test_quaternion_init_modulus_is_chi_distributed():
    x = modulus(weights(), 0).sort().values / sigma(INTO, OUT)
    expected = 1 - (1 + x**2 / 2) * torch.exp(-(x**2) / 2)
    found = torch.arange(1, len(x) + 1) / len(x)
    # exceeded by one seed of a hundred
    assert (found - expected).abs().max() < 1.63 / math.sqrt(len(x))


def test_quaternion_init_angle_is_uniform():
    w = weights()
    # folded to [0, pi]
    theta = torch.atan2(torch.linalg.vector_norm(w[1:], dim=0), w[0]).sort().values
    found = torch.arange(1, len(theta) + 1) / len(theta)
    assert (found - theta / math.pi).abs().max() < 1.63 / math.sqrt(len(theta))


def test_quaternion_init_real_part_has_half_the_power():
    power = weights().square().mean(1) / sigma(INTO, OUT) ** 2
    assert power.tolist() == pytest.approx([2, 2 / 3, 2 / 3, 2 / 3], rel=0.03)


def test_quaternion_init_axis_favours_no_octant():
    w = weights()
    octant = ((w[1:] > 0).T.long() * torch.tensor([1, 2, 4])).sum(1)
    share = torch.bincount(octant, minlength=8) / w.shape[1]
    assert (share - 1 / 8).abs().max() < 5 * math.sqrt(7 / 64 / w.shape[1])
    assert (w.mean(1).abs() < 5 * sigma(INTO, OUT) * math.sqrt(2 / w.shape[1])).all()


def test_quaternion_init_variance_is_that_of_glorot():
    torch.manual_seed(0)
    matrix = hamilton_matrix(quaternion_init_(torch.empty(4, OUT, INTO)))
    assert matrix.var().item() == pytest.approx(2 / (4 * OUT + 4 * INTO), rel=0.02)


@pytest.mark.parametrize(
    "criterion, act", [("glorot", torch.nn.Identity()), ("he", torch.nn.ReLU())]
)
def test_quaternion_init_keeps_power_through_layers(criterion, act):
    torch.manual_seed(0)
    x = torch.randn(64, 4 * 128)
    for _ in range(8):
        x = act(x @ hamilton_matrix(quaternion_init_(torch.empty(4, 128, 128), criterion)).T)
    assert x.square().mean().item() == pytest.approx(1, rel=0.3)


def test_quaternion_init_returns_the_weight():
    weight = torch.nn.Parameter(torch.empty(4, 2, 2))
    assert quaternion_init_(weight) is weight
    assert weight.requires_grad and weight.grad_fn is None


@pytest.mark.parametrize(
    "make, expected",
    [
        (lambda: QuaternionLinear(64, 96).weight, sigma(64, 96)),
        (lambda: QuaternionConv2d(32, 48, (2, 3)).weight, sigma(32 * 6, 48 * 6)),
        (lambda: CausalConv2d(32, 48, (2, 3)).conv.weight, sigma(32 * 6, 48 * 6)),
        (
            lambda: QuaternionGRU(64, 96).weight_input.transpose(0, 1),
            sigma(64, 96),
        ),  # every gate by itself
        (lambda: QuaternionGRU(64, 96).weight_hidden.transpose(0, 1), sigma(96, 96)),
    ],
    ids=["linear", "conv2d", "causal2d", "gru input", "gru hidden"],
)
def test_layers_use_quaternion_init(make, expected):
    torch.manual_seed(0)
    weight = make().detach()
    assert modulus(weight, 0).square().mean().item() == pytest.approx(4 * expected**2, rel=0.06)
    assert weight[0].square().mean().item() == pytest.approx(2 * expected**2, rel=0.06)

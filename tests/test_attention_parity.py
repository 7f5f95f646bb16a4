"""Attention against its equations, written out in float64: values, gradients, and the paper's count of products."""

import math

import pytest
import torch
from torch.nn import functional as F

from qse.networks.paper_models import macs
from qse.nn import attention
from qse.nn.attention import SharedScoreAttention
from qse.nn.conv_attention import ConvolutionAttention
from qse.nn.hamilton import HamiltonAttention, component_attention, folded_attention, written_out_
from qse.nn.quaternion import conjugate, hamilton_product

N, H, L, D = 2, 3, 5, 2  # sequences, heads, tokens, quaternions per head
C = H * D


@pytest.fixture(autouse=True)
def _double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def products(q, k):
    """Sum over l of Q_i^(l) (x) K_j^(l): (..., i, d, 4) and (..., j, d, 4) -> (..., i, j, 4)."""
    return hamilton_product(q[..., :, None, :, :], k[..., None, :, :, :]).sum(-2)


def shared(q, k, v):
    """Eqs. 9-13."""
    scores = products(q, conjugate(k))[..., 0] / math.sqrt(4 * D)
    return torch.einsum("...ij,...jda->...ida", scores.softmax(-1), v)


def hamilton(q, k, v):
    """Eqs. 14-16."""
    weights = (products(q, k) / math.sqrt(D)).softmax(-2)  # over j, each component by itself
    return torch.einsum("...ija,...jda->...ida", weights, v)


def linear(x, layer):
    """Eq. 21, summed product by product: (..., in, 4) -> (..., out, 4)."""
    weight, bias = layer.weight.permute(2, 1, 0), layer.bias.T  # in, out, 4 and out, 4
    return hamilton_product(x[..., :, None, :], weight).sum(-3) + bias


def rms_norm(q, layer):
    """Eqs. 17-18: (..., d, 4)."""
    rms = (q.square().sum(-1, keepdim=True) / 4 + layer.eps).sqrt()
    return q / rms * layer.gain[:, None]


def heads(x):
    """(N, L, H d, 4) -> (N, H, L, d, 4): a head is d neighbouring quaternions."""
    return x.unflatten(2, (H, D)).transpose(1, 2)


def by_hand(layer, x, attend):
    """(N, L, 4, C): the whole layer from the equations above."""
    qkv = linear(x.transpose(-1, -2), layer.project.linear)
    q, k, v = (heads(part) for part in qkv.split(C, dim=2))
    y = attend(rms_norm(q, layer.project.norm_q), rms_norm(k, layer.project.norm_k), v)
    return linear(y.transpose(1, 2).flatten(2, 3), layer.out).transpose(-1, -2)


def assert_same(function, other, *tensors):
    """Equal values, and equal gradients of a random projection in all `tensors`."""
    y, z = function(), other()
    torch.testing.assert_close(y, z, rtol=1e-10, atol=1e-12)
    direction = torch.randn_like(y)
    for one, two in zip(
        torch.autograd.grad(y, tensors, direction), torch.autograd.grad(z, tensors, direction), strict=True
    ):
        torch.testing.assert_close(one, two, rtol=1e-9, atol=1e-11)


def random_layer(kind):
    """A layer whose biases and gains are not those of a fresh one."""
    layer = kind(C, H)
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return layer


CASES = {
    "shared": (SharedScoreAttention, shared),
    "hamilton, folded": (HamiltonAttention, hamilton),
    "hamilton, literal": (lambda *sizes: written_out_(HamiltonAttention(*sizes)), hamilton),
}


@pytest.mark.parametrize("few_tokens", [0, 64])
@pytest.mark.parametrize(("kind", "attend"), CASES.values(), ids=CASES)
def test_layer_is_its_equations(kind, attend, few_tokens, monkeypatch):
    monkeypatch.setattr(attention, "FEW_TOKENS", few_tokens)
    layer, x = random_layer(kind), torch.randn(N, L, 4, C, requires_grad=True)
    assert_same(lambda: layer(x), lambda: by_hand(layer, x, attend), x, *layer.parameters())


def test_one_hamilton_attention_is_not_the_other_ones_score():
    layer, x = random_layer(HamiltonAttention), torch.randn(N, L, 4, C)
    assert (layer(x) - by_hand(layer, x, shared)).abs().max() > 1e-2


@pytest.mark.parametrize("attend", [component_attention, folded_attention])
def test_hamilton_forms(attend):
    q, k, v = (torch.randn(N, H, L, 4, D, requires_grad=True) for _ in range(3))
    written_out = (part.transpose(-1, -2) for part in (q, k, v))
    assert_same(lambda: attend(q, k, v), lambda: hamilton(*written_out).transpose(-1, -2), q, k, v)


def test_attention_on_convolutions():
    """Kernel 3 = linear layers on the token before, the token itself and the token after it."""
    layer, x = random_layer(ConvolutionAttention), torch.randn(N, L, 4, C, requires_grad=True)

    def expected():
        padded = F.pad(x.transpose(-1, -2), (0, 0, 0, 0, 1, 1))  # N, L + 2, C, 4
        weight = layer.project.weight[..., 0].permute(3, 2, 1, 0)  # tap, in, out, 4
        taps = (hamilton_product(padded[:, t : t + L, :, None, :], weight[t]).sum(-3) for t in range(3))
        q, k, v = (heads(part) for part in (sum(taps) + layer.project.bias.T).split(C, dim=2))
        y = shared(rms_norm(q, layer.norm_q), rms_norm(k, layer.norm_k), v)
        return linear(y.transpose(1, 2).flatten(2, 3), layer.out).transpose(-1, -2)

    assert_same(lambda: layer(x), expected, x, *layer.parameters())


@pytest.mark.parametrize(("length", "ours", "theirs"), [(512, 134e6, 336e6), (1024, 537e6, 1.34e9)])
def test_products_of_table_9(length, ours, theirs):
    """d_model = 64 quaternions, 8 heads."""
    real = [torch.empty(1, 8, length, 32, device="meta")] * 3
    quaternion = [torch.empty(1, 8, length, 4, 8, device="meta")] * 3
    assert macs(F.scaled_dot_product_attention, *real) == pytest.approx(ours, rel=3e-3)
    assert macs(component_attention, *quaternion) == pytest.approx(theirs, rel=3e-3)


@pytest.mark.parametrize("qk_norm", [False, True])
def test_attention_in_bfloat16_is_carried_out_in_float32(qk_norm, monkeypatch):
    seen = []

    def spy(q, k, v, **options):
        seen.extend([q.dtype, k.dtype, v.dtype, torch.is_autocast_enabled("cpu")])
        return q

    monkeypatch.setattr(F, "scaled_dot_product_attention", spy)
    monkeypatch.setattr(attention, "FEW_TOKENS", 0)
    layer = SharedScoreAttention(4, 2, qk_norm).float()
    with torch.autocast("cpu", torch.bfloat16):
        layer(torch.randn(2, 5, 4, 4, dtype=torch.float32))
    assert seen == [torch.float32] * 3 + [False]


def test_few_tokens_are_attended_to_in_float32_as_well():
    q, k, v = (torch.randn(2, 3, 5, 8, dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
    with torch.autocast("cpu", torch.bfloat16):
        y = attention.attend(q, k, v)
    expected = F.scaled_dot_product_attention(q.float(), k.float(), v.float())
    torch.testing.assert_close(y, expected, rtol=1e-6, atol=1e-6)

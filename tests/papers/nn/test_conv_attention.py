"""Attention on convolutions against its equations."""

import pytest

torch = pytest.importorskip("torch")

import attention_equations as eq
from attention_equations import C, L, N
from qse_papers.nn.conv_attention import ConvolutionAttention
from torch.nn import functional as F

from qse.nn.quaternion import hamilton_product

pytestmark = pytest.mark.usefixtures("float64")


def test_convolution_attention_is_linear_layers_on_taps():
    """Kernel 3 = linear layers on the token before, the token itself and the token after it."""
    layer = eq.random_layer(ConvolutionAttention)
    x = torch.randn(N, L, 4, C, requires_grad=True)

    def expected():
        padded = F.pad(x.transpose(-1, -2), (0, 0, 0, 0, 1, 1))  # N, L + 2, C, 4
        weight = layer.project.weight[..., 0].permute(3, 2, 1, 0)  # tap, in, out, 4
        taps = (
            hamilton_product(padded[:, t : t + L, :, None, :], weight[t]).sum(-3) for t in range(3)
        )
        q, k, v = (eq.heads(part) for part in (sum(taps) + layer.project.bias.T).split(C, dim=2))
        y = eq.shared(eq.rms_norm(q, layer.norm_q), eq.rms_norm(k, layer.norm_k), v)
        return eq.linear(y.transpose(1, 2).flatten(2, 3), layer.out).transpose(-1, -2)

    eq.assert_same(lambda: layer(x), expected, x, *layer.parameters())


def test_convolution_attention_is_equivariant_to_rotation():
    """Rotating all input quaternions by one unit quaternion rotates the output: heads hold whole
    quaternions."""
    torch.manual_seed(0)
    attention = ConvolutionAttention(8, 4)
    x = torch.randn(2, 5, 4, 8)
    turn = F.normalize(torch.randn(4), dim=0)[:, None]
    turned = hamilton_product(turn, x, dim=-2)
    torch.testing.assert_close(
        attention(turned), hamilton_product(turn, attention(x), dim=-2), rtol=1e-4, atol=1e-5
    )

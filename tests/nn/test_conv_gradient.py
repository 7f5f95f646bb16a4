"""The faster convolution gradient against torch's own: equal values and gradients."""

import pytest

torch = pytest.importorskip("torch")

from qse_papers.networks.dilated_densenet import DilatedDense
from torch.nn import functional as F

from qse.nn import conv_gradient
from qse.nn.layout import to_features

CASES = [  # channels in, out, kernel, stride, padding, dilation
    (24, 9, (2, 3), (1, 1), (0, 1), (4, 1)),
    (24, 9, (3, 5), (1, 1), (1, 2), (1, 2)),
    (9, 24, (2, 3), (1, 1), (0, 1), (2, 1)),
    (16, 12, (2, 3), (1, 2), (0, 1), (1, 1)),
    (12, 16, (2, 3), (2, 3), (2, 0), (1, 2)),
    (16, 12, (1, 3), (1, 1), (0, 0), (1, 1)),
    (24, 12, (3, 3), (1, 1), (4, 1), (4, 1)),
    (24, 12, (3, 3), (1, 2), (4, 1), (4, 1)),
    (16, 12, (1, 2), (1, 1), (0, 4), (1, 1)),  # padded by more than the kernel sees
    (12, 16, (1, 1), (1, 1), (0, 0), (1, 1)),
    (12, 16, (1, 1), (1, 2), (0, 0), (1, 1)),
    (12, 16, (1, 1), (1, 1), (0, 1), (1, 1)),
]


class Counted:
    def __init__(self, function):
        self.function = function
        self.calls = 0

    def __call__(self, *arguments):
        self.calls += 1
        return self.function(*arguments)


@pytest.mark.parametrize("sliced", [False, True])
@pytest.mark.parametrize(("inputs", "outputs", "kernel", "stride", "padding", "dilation"), CASES)
def test_conv2d_gradients_equal_torch(
    monkeypatch, inputs, outputs, kernel, stride, padding, dilation, sliced
):
    torch.manual_seed(0)
    x = torch.randn(2, 11, 22, inputs, dtype=torch.float64).permute(0, 3, 1, 2)
    x = (x[..., 3:16] if sliced else x).requires_grad_()
    weight = torch.randn(outputs, inputs, *kernel, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(outputs, dtype=torch.float64, requires_grad=True)
    expected = F.conv2d(x, weight, bias, stride, padding, dilation)
    monkeypatch.setattr(F, "conv2d", counted := Counted(F.conv2d))
    monkeypatch.setattr(conv_gradient, "_by_weight", by_weight := Counted(conv_gradient._by_weight))
    y = conv_gradient.conv2d(x, weight, bias, stride, padding, dilation)
    torch.testing.assert_close(y, expected)
    assert y.stride(1) == 1  # channels are innermost here as well
    towards = torch.randn_like(y)
    gradients = (torch.autograd.grad(z, (x, weight, bias), towards) for z in (y, expected))
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other)
    plain = (kernel, stride, padding) == ((1, 1), (1, 1), (0, 0))
    assert counted.calls == by_weight.calls == (not plain)  # this gradient, and not torch's
    conv_gradient.conv2d(x.detach(), weight, None, stride, padding, dilation).sum().backward()
    expected = F.conv2d(x.detach(), weight, None, stride, padding, dilation).sum()
    torch.testing.assert_close(weight.grad, torch.autograd.grad(expected, weight)[0])


def test_conv2d_trains_the_dense_block(monkeypatch):
    monkeypatch.setattr(conv_gradient, "_by_weight", by_weight := Counted(conv_gradient._by_weight))
    block = DilatedDense(4, 4, dilations=(1, 2, 4), dropout=0.0, stride=2)
    block(to_features(torch.randn(1, 12, 9, 4, 4))).sum().backward()
    # the 3 x 3 convolution of each layer; torch's takes eight times as long
    assert by_weight.calls == 3


def test_conv2d_leaves_other_cases_to_torch(monkeypatch):
    def never(*_):
        raise AssertionError

    monkeypatch.setattr(conv_gradient._Conv2d, "apply", never)
    innermost = torch.randn(1, 8, 8, 16).permute(0, 3, 1, 2)
    weight = torch.nn.Parameter(torch.randn(16, 16, 1, 3))
    with pytest.raises(AssertionError):
        conv_gradient.conv2d(innermost, weight)
    conv_gradient.conv2d(innermost.contiguous(), weight)
    conv_gradient.conv2d(innermost, weight.detach())
    conv_gradient.conv2d(innermost[:, :4], torch.nn.Parameter(torch.randn(16, 4, 1, 3)))
    conv_gradient.conv2d(innermost.bfloat16(), torch.nn.Parameter(weight.detach().bfloat16()))
    with torch.no_grad():
        conv_gradient.conv2d(innermost, weight)
    with torch.autocast("cpu", torch.bfloat16):
        assert conv_gradient.conv2d(innermost, weight).dtype == torch.bfloat16

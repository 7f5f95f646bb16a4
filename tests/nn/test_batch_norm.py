"""Quaternion batch norm against its definition, and folded into a convolution."""

import pytest

torch = pytest.importorskip("torch")

from tensors import as_trained, close, draw
from torch.nn import functional as F

from qse.nn.batch_norm import QuaternionBatchNorm2d, fold_batch_norm


def test_batch_norm_is_per_component_and_channel():
    layer = as_trained(QuaternionBatchNorm2d(3), 0.3).double()
    x = draw(2, 4, 3, 5, 6) * torch.arange(1, 5).view(4, 1, 1, 1) + 3
    mean, var = (stat.clone().view(4, 3) for stat in (layer.running_mean, layer.running_var))
    gain = layer.weight.view(4, 3)
    bias = layer.bias.view(4, 3)
    y = layer(x)
    for part in range(4):
        for c in range(3):
            scale = gain[part, c] / (var[part, c] + 1e-5).sqrt()
            close(y[:, part, c], (x[:, part, c] - mean[part, c]) * scale + bias[part, c])
    layer.train()
    y = layer(x)
    for part in range(4):
        for c in range(3):
            seen = x[:, part, c]
            expected = (seen - seen.mean()) / (seen.var(correction=0) + 1e-5).sqrt()
            close(y[:, part, c], expected * gain[part, c] + bias[part, c])
            close(layer.running_mean.view(4, 3)[part, c], 0.9 * mean[part, c] + 0.1 * seen.mean())
            close(layer.running_var.view(4, 3)[part, c], 0.9 * var[part, c] + 0.1 * seen.var())


@pytest.mark.parametrize("with_bias", [False, True])
def test_fold_batch_norm_equals_conv_then_norm(with_bias):
    norm = as_trained(QuaternionBatchNorm2d(3), 0.3).double()
    weight = draw(12, 8, 2, 3)
    bias = draw(12)
    bias = bias if with_bias else None
    x = draw(2, 8, 5, 6)
    folded = F.conv2d(x, *fold_batch_norm(weight, bias, norm))
    close(folded, norm(F.conv2d(x, weight, bias).unflatten(1, (4, 3))).flatten(1, 2))

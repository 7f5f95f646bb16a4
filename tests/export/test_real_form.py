"""Every layer on its own has a real form that computes the same: whatever networks are assembled
from them."""

import copy
from functools import partial

import pytest

torch = pytest.importorskip("torch")

from qse_papers.nn.conv_attention import ConvolutionAttention
from qse_papers.nn.hamilton import HamiltonAttention
from qse_papers.nn.ssm import ShortConv
from tensors import as_trained
from torch import Tensor, nn

from qse.export import adapt, register
from qse.export.real_form import FORMS, real_form, reals
from qse.networks.dense_block import CausalUnit, ConvUnit, DenseBlock
from qse.networks.time_mixers import TIME_MIXERS, find_time_mixer
from qse.nn import (
    BandMerge,
    BandSplit,
    CausalConv2d,
    FrequencyUpsample,
    LookAhead,
    QuaternionBatchNorm2d,
    QuaternionConv2d,
    QuaternionLayerNorm,
    QuaternionLinear,
    QuaternionRMSNorm,
    RealHead,
    SharedScoreAttention,
    Stateful,
)

RANGES = ((8, 2), (8, 4))
FEATURES = {
    "convolution": (lambda: QuaternionConv2d(4, 6, (1, 3), padding=(0, 1)), (2, 4, 4, 7, 5)),
    "causal convolution": (lambda: CausalConv2d(4, 6, (3, 3), dilation=2), (2, 4, 4, 7, 5)),
    "convolution unit": (lambda: ConvUnit(4, 6, (1, 3), stride=2), (2, 4, 4, 7, 6)),
    "causal unit, two taps": (lambda: CausalUnit(4, 6, (2, 3), dilation=2), (2, 4, 4, 7, 5)),
    "causal unit, three taps": (lambda: CausalUnit(4, 6, (3, 3)), (2, 4, 4, 7, 5)),
    "dense block": (lambda: DenseBlock(4, 2, (1, 2)), (2, 4, 4, 7, 5)),
    "batch norm": (lambda: QuaternionBatchNorm2d(4), (2, 4, 4, 7, 5)),
    "upsampling": (lambda: FrequencyUpsample(4, 6, 3), (2, 4, 4, 7, 5)),
    "band split": (lambda: BandSplit(4, RANGES), (2, 4, 1, 7, 16)),
    "band merge": (lambda: BandMerge(4, 6, RANGES), (2, 4, 4, 7, 6)),
    "head": (lambda: RealHead(4, 3, (1, 3)), (2, 4, 4, 7, 5)),
}
TOKENS = {
    "linear": (lambda: QuaternionLinear(4, 6), (2, 7, 5, 4, 4)),
    "layer norm": (lambda: QuaternionLayerNorm(4), (2, 7, 5, 4, 4)),
    "RMS norm": (lambda: QuaternionRMSNorm(4), (2, 7, 5, 4, 4)),
    "shared-score attention": (lambda: SharedScoreAttention(4, 2), (3, 7, 4, 4)),
    "Hamilton attention": (lambda: HamiltonAttention(4, 2), (3, 7, 4, 4)),
    "convolution attention": (lambda: ConvolutionAttention(4, 2), (3, 7, 4, 4)),
    "short convolution": (lambda: ShortConv(4), (3, 7, 4, 4)),
    "look-ahead": (lambda: LookAhead(4, 3), (2, 7, 5, 4, 4)),
}
SIZES = {"bands": 3, "channels": 4, "heads": 2, "window": 5}
for mixer in TIME_MIXERS:
    build = partial(find_time_mixer(mixer).of_sizes, **SIZES)
    TOKENS[f"time mixer {mixer}"] = (build, (6, 7, 4, 4))


def output(layer: nn.Module, x: Tensor) -> Tensor:
    """Return the output of a layer for an input in two parts, where it has a state."""
    if not isinstance(layer, Stateful):
        return layer(x)
    dim = 1 if x.ndim < 4 or x.shape[1] == 7 else x.ndim - 2
    first, later = x.split([3, 4], dim)
    y, state = layer(first)
    z, _ = layer(later, state)
    return torch.cat([y, z], 1 if dim == 1 else y.ndim - 2)


@torch.no_grad()
@pytest.mark.parametrize("name", [*FEATURES, *TOKENS])
def test_real_form_computes_the_same(name):
    torch.manual_seed(0)
    build, shape = (FEATURES | TOKENS)[name]
    layer = as_trained(build()).eval()
    x = torch.randn(shape)
    axis = 1 if name in FEATURES else -2
    expected = output(layer, x)
    if name != "head":
        expected = reals(expected, axis)
    found = output(real_form(copy.deepcopy(layer)), reals(x, axis))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)


class Own(QuaternionLinear):
    def forward(self, x):
        return super().forward(x) ** 2


@torch.no_grad()
def test_registered_forms_hold_for_subclasses_that_change_nothing(monkeypatch):
    monkeypatch.setattr("qse.export.real_form.FORMS", dict(FORMS))

    class Same(QuaternionLinear):
        pass

    assert type(real_form(Same(3, 3))) is nn.Linear
    layer = Own(3, 3)
    x = torch.randn(2, 4, 3)
    torch.testing.assert_close(real_form(copy.deepcopy(layer))(reals(x)), reals(layer(x)))
    marked = nn.Identity()
    register(Own, lambda layer: marked)
    assert real_form(Own(3, 3)) is marked

    @adapt(Same)
    def kept(layer):
        return layer

    same = Same(3, 3)
    assert real_form(same) is same

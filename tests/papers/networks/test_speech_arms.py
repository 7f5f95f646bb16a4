"""Attention of the controls: means of values, no mixing, and what real projections keep."""

import pytest

torch = pytest.importorskip("torch")

from qse_papers.networks.speech_arms import (
    NoAttention,
    RealHamiltonAttention,
    RealSharedScoreAttention,
    UniformAttention,
)
from qse_papers.nn.hamilton import HamiltonAttention
from tensors import close, count, draw

from qse.networks import build_network
from qse.nn.attention import SharedScoreAttention


def test_uniform_attention_is_attention_with_equal_scores():
    """The layer equals shared-score attention whose queries are zero."""
    torch.manual_seed(0)
    known = SharedScoreAttention(4, 2, qk_norm=False).double()
    layer = UniformAttention(4, 2, False).double()
    with torch.no_grad():
        known.project.linear.weight[:, :4] = 0
        known.project.linear.bias[:, :4] = 0
        layer.value.weight.copy_(known.project.linear.weight[:, 8:])
        layer.value.bias.copy_(known.project.linear.bias[:, 8:])
        layer.out.load_state_dict(known.out.state_dict())
    x = draw(3, 5, 4, 4)
    close(layer(x), known(x))


def test_no_attention_mixes_no_tokens():
    torch.manual_seed(0)
    layer = NoAttention(4, 2, False).double()
    x = draw(3, 5, 4, 4)
    close(layer(x)[:, 2], layer(x[:, 2:3])[:, 0])


@pytest.mark.parametrize(
    "real, quaternion",
    [
        (RealSharedScoreAttention, SharedScoreAttention),
        (RealHamiltonAttention, HamiltonAttention),
    ],
)
def test_real_projections_have_four_times_the_weights(real, quaternion):
    channels = 8
    more = count(real(channels, 2, True)) - count(quaternion(channels, 2, True))
    assert more == 3 * 4 * channels * 3 * channels  # 12 C^2 become 48 C^2


@pytest.mark.parametrize("name", ["UniformAttention", "RealHamiltonAttention"])
def test_offline_network_takes_an_attention_by_name(name):
    sizes = {"n_fft": 32, "hop_length": 16, "channels": 4, "heads": 2, "layers": 1}
    attention = f"qse_papers.networks.speech_arms:{name}"
    network = build_network({"network": "qtransformer", "attention": attention, **sizes})
    kinds = {type(module).__name__ for module in network.modules()}
    assert name in kinds and "SharedScoreAttention" not in kinds
    assert network.enhance(torch.randn(2, 320)).shape == (2, 320)

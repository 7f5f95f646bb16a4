"""Language models: exact parameter counts of Table 4, causality, layout of the heads."""

import dataclasses

import pytest

torch = pytest.importorskip("torch")

from qse_papers.networks import language
from qse_papers.networks.language import (
    ARMS,
    CausalAttention,
    Language,
    LanguageConfig,
    SwiGLU,
    rotary,
)
from tensors import count

from qse.nn.attention import CausalSharedScoreAttention
from qse.nn.linear import QuaternionLinear

TABLE_4 = {
    "A0": 1_872_576,
    "A1": 547_200,
    "A2": 812_928,
    "A3": 588_672,
    "A4": 823_296,
    "A5": 559_488,
}


@pytest.mark.parametrize("arm", TABLE_4)
def test_language_parameters_of_table_4(arm):
    assert count(Language(ARMS[arm])) == TABLE_4[arm]


@pytest.mark.parametrize("arm", TABLE_4)
def test_language_is_causal(arm):
    torch.manual_seed(0)
    small = dataclasses.replace(ARMS[arm], dim=32, feed=32)
    network = Language(small).double().eval()
    tokens = torch.randint(256, (2, 12))
    other = tokens.clone()
    other[:, 7:] = torch.randint(256, (2, 5))
    y = network(tokens)
    z = network(other)
    assert y.shape == (2, 12, 256)
    torch.testing.assert_close(y[:, :7], z[:, :7], rtol=0, atol=1e-12)
    assert ((y[:, 7:] - z[:, 7:]).abs().amax(-1) > 1e-6).all()


def test_language_sees_all_earlier_bytes():
    torch.manual_seed(0)
    for pattern in ("A", "M"):
        network = Language(LanguageConfig(pattern, dim=32, feed=32)).eval()
        tokens = torch.randint(256, (1, 12))
        other = tokens.clone()
        other[0, 2] += 1
        assert ((network(tokens) - network(other)).abs().amax(-1) > 0)[0, 2:].all()


def test_causal_attention_heads_hold_quaternions(monkeypatch):
    """Without positions it equals the streaming layer with a window as long as the text."""
    torch.manual_seed(0)
    monkeypatch.setattr(language, "rotary", lambda x: x)
    layer = CausalAttention(LanguageConfig("A", dim=32, heads=4))
    x = torch.randn(2, 5, 32)
    shared = CausalSharedScoreAttention(8, 4, window=5, qk_norm=False)
    shared.project.linear.load_state_dict(layer.project.state_dict())
    shared.out.load_state_dict(layer.out.state_dict())
    torch.testing.assert_close(layer(x), shared(x.unflatten(-1, (4, -1)))[0].flatten(-2))


def test_swiglu_equals_three_quaternion_layers():
    torch.manual_seed(0)
    layer = SwiGLU(LanguageConfig("A", dim=8, feed=12))
    x = torch.randn(2, 5, 4, 2)
    gate = QuaternionLinear(2, 3, bias=False)
    up = QuaternionLinear(2, 3, bias=False)
    gate.weight.data, up.weight.data = layer.both.weight.data.chunk(2, 1)
    down = QuaternionLinear(3, 2, bias=False)
    down.load_state_dict(layer.down.state_dict())
    g = gate(x)
    torch.testing.assert_close(layer(x.flatten(-2)), down(g * g.sigmoid() * up(x)).flatten(-2))


def test_rotary_scores_depend_on_distance():
    torch.manual_seed(0)
    q = rotary(torch.randn(8).double().expand(1, 1, 9, 8))
    k = rotary(torch.randn(8).double().expand(1, 1, 9, 8))
    scores = (q @ k.mT)[0, 0]
    torch.testing.assert_close(scores[1:, 1:], scores[:-1, :-1])
    assert scores[0].std() > 1e-3


def test_language_config_refuses_other_letters():
    with pytest.raises(ValueError, match="AXM"):
        LanguageConfig("AXM")
    with pytest.raises(ValueError, match="quaternion"):
        LanguageConfig("AM", quaternion=False)

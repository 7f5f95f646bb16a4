"""Signals of attention layers: the outputs that they give equal those of the layers themselves."""

import pytest

torch = pytest.importorskip("torch")

from qse_papers.attention_capture import (
    Signals,
    load_speech_network,
    projections,
    speech_signals,
    text_signals,
)
from qse_papers.networks.text import TextClassifier, TextConfig
from qse_papers.nn.hamilton import HamiltonAttention
from small_networks import offline, unsettle

from qse.errors import UsageError
from qse.nn.attention import SharedScoreAttention, merge_heads


@pytest.mark.parametrize("arm, formula", [("full", "hamilton"), ("shared", "shared")])
def test_text_signals_give_the_layers_outputs(arm, formula):
    network = TextClassifier(TextConfig(arm, dim=16, feed=16, heads=2, layers=2), 50, 2).eval()
    tokens = torch.randint(1, 50, (3, 6))
    tokens[0, 4:] = 0
    layers = text_signals(network, tokens)
    assert list(layers) == ["layer 0", "layer 1"]
    for layer, signals in zip(network.layers, layers.values(), strict=True):
        own = layer.attention.attend(*signals).permute(0, 2, 1, 3, 4)[tokens != 0].flatten()
        torch.testing.assert_close(signals.output(formula), own)
        assert own.numel() == 16 * 16  # tokens that are no padding, dim


@pytest.mark.parametrize(
    "name, formula", [("qtransformer-hamilton", "hamilton"), ("qtransformer", "shared")]
)
def test_speech_signals_give_the_layers_outputs(name, formula, monkeypatch):
    """Each attention applied to its recorded q, k, v, in whole and in a few sequences at a time."""
    network = unsettle(offline(name)).eval()
    audio = 0.3 * torch.randn(1, 200)
    outputs = []
    for part in network.modules():
        if isinstance(part, SharedScoreAttention | HamiltonAttention):
            part.out.register_forward_pre_hook(lambda _, arguments: outputs.append(arguments[0]))
    layers = speech_signals(network, audio)
    assert list(layers) == ["time 0", "frequency 0"] == list(projections(network))
    for signals, expected in zip(layers.values(), outputs, strict=True):
        y = signals.output(formula).unflatten(0, (*expected.shape[:2], signals.q.shape[1], 4, -1))
        torch.testing.assert_close(merge_heads(y.movedim(2, 1).flatten(-2)), expected)
    assert layers["time 0"].q.shape[:3] == (9, 4, 26) and layers["frequency 0"].q.shape[:3] == (
        26,
        4,
        9,
    )
    monkeypatch.setattr("qse_papers.networks.axial_attention.TILE", 30)
    for tiled, whole in zip(speech_signals(network, audio).values(), layers.values(), strict=True):
        torch.testing.assert_close(tiled.v, whole.v)


def test_outputs_of_uniform_attention_are_means_of_values():
    v = torch.randn(1, 2, 5, 4, 3)
    seen = torch.tensor([[True, True, True, False, False]])
    expected = (
        v[:, :, :3].mean(2, keepdim=True).expand(1, 2, 3, 4, 3).permute(0, 2, 1, 3, 4).flatten()
    )
    torch.testing.assert_close(Signals(v, v, v, seen).output("uniform"), expected)


def test_load_speech_network_refuses_networks_without_scores(small_run):
    assert load_speech_network(small_run("qtransformer"))[0] == "shared"
    with pytest.raises(UsageError, match="no attention with scores"):
        load_speech_network(small_run("qdensenet"))

"""Offline benchmark: the literal form of Hamilton attention."""

import copy

import pytest

torch = pytest.importorskip("torch")

from qse_papers.nn.hamilton import component_attention, folded_attention, written_out_

from qse.networks import build_network


def test_written_out_attention_equals_the_folded_one():
    n_fft = 32
    hop = 16
    folded = build_network(
        {"network": "qtransformer-hamilton", "n_fft": n_fft, "hop_length": hop}
    ).eval()
    literal = written_out_(copy.deepcopy(folded))
    x = torch.randn(1, 200)
    for network, attend in ((folded, folded_attention), (literal, component_attention)):
        assert {part.attend for part in network.modules() if hasattr(part, "attend")} == {attend}
    with torch.inference_mode():
        torch.testing.assert_close(literal(x), folded(x), rtol=0, atol=1e-5)

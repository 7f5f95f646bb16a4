"""Text networks: sizes of the papers' tables, attention against its equations, padding, scale."""

import pytest

torch = pytest.importorskip("torch")

from qse_papers.networks.hypercomplex import HypercomplexLinear
from qse_papers.networks.text import TextAttention, TextClassifier, TextConfig
from qse_papers.nn.hamilton import HamiltonAttention, written_out_
from tensors import count

from qse.nn.attention import SharedScoreAttention


def layers_of(arm: str, **changes) -> torch.nn.Module:
    with torch.device("meta"):
        return TextClassifier(TextConfig(arm, **changes), 8000, 2).layers


@pytest.mark.parametrize(
    "arm, parameters",
    [("real", 396_544), ("partial", 298_240), ("full", 101_632), ("shared", 101_632)],
)
def test_text_classifier_parameters_of_table_2(arm, parameters):
    """Tay et al., Table 2: 400K, 300K, 100K."""
    assert count(layers_of(arm)) == parameters


@pytest.mark.parametrize("n, parameters", [(2, 198_976), (4, 101_120), (8, 55_552)])
def test_phm_transformer_parameters_of_table_5(n, parameters):
    """Zhang et al., Table 5: 200K, 101K, 56K; norms are not counted.

    One PHM layer gives queries, keys and values.
    """
    total = 0
    for module in layers_of("phm", phm_n=n).modules():
        if isinstance(module, HypercomplexLinear):
            total += count(module)
    assert total == parameters


@pytest.mark.parametrize("dim", [64, 128])
def test_text_classifier_embeddings_begin_at_unit_scale(dim):
    """Scaled by sqrt(dim), words have the size of positions, whose mean square is 1/2."""
    torch.manual_seed(0)
    weight = TextClassifier(TextConfig(dim=dim), 8000, 2).embedding.weight
    assert (weight[1:] * dim**0.5).std().item() == pytest.approx(1.0, abs=0.01)
    assert not weight[0].any()  # padding


def joined(layer: TextAttention, known: torch.nn.Module) -> None:
    """Copy the weights of `layer` into the speech network's attention."""
    known.out.load_state_dict(layer.out.state_dict())
    for name in ("weight", "bias"):
        parts = torch.cat([getattr(part, name) for part in layer.project], 1)
        getattr(known.project.linear, name).data.copy_(parts)


@pytest.mark.parametrize("arm", ["full", "shared"])
def test_text_attention_equals_speech_attention(arm):
    """The layers of the speech networks are held to the equations in test_attention_parity.py."""
    torch.manual_seed(0)
    layer = TextAttention(TextConfig(arm, dim=16, heads=2))
    x = torch.randn(3, 5, 16)
    kind = HamiltonAttention if arm == "full" else SharedScoreAttention
    known = written_out_(kind(4, 2, qk_norm=False))
    joined(layer, known)
    y = known(x.unflatten(-1, (4, -1))).flatten(-2)
    torch.testing.assert_close(layer(x, torch.ones(3, 5, dtype=torch.bool)), y)


def test_phm_attention_splits_one_layer_three_ways():
    torch.manual_seed(0)
    layer = TextAttention(TextConfig("phm", dim=16, heads=2))
    x = torch.randn(3, 5, 16)
    (project,) = layer.project
    for part, expected in zip(layer.queries_keys_values(x), project(x).chunk(3, -1), strict=True):
        torch.testing.assert_close(part.permute(0, 2, 3, 1, 4).flatten(2), expected)


@pytest.mark.parametrize("arm", ["real", "partial", "full", "shared", "phm"])
def test_text_classifier_ignores_padding(arm):
    torch.manual_seed(0)
    network = TextClassifier(TextConfig(arm, dim=16, feed=16, heads=2), 50, 3).double().eval()
    tokens = torch.randint(1, 50, (2, 5))
    padded = torch.cat([tokens, torch.zeros(2, 3, dtype=torch.long)], 1)
    torch.testing.assert_close(network(padded), network(tokens))

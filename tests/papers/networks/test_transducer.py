"""Sequence-to-sequence Transformer: causality, padding, greedy decoding, counts of the papers."""

import pytest

torch = pytest.importorskip("torch")

from qse_papers.networks.text import TextConfig, matrix_parameters
from qse_papers.networks.transducer import END, SourceAttention, Transducer, greedy

ARMS = [("real", 1), ("phm", 2), ("full", 4), ("partial", 4)]


def small(arm, n):
    torch.manual_seed(0)
    return Transducer(TextConfig(arm, n, dim=16, feed=16, heads=2, layers=2), 12).double().eval()


@pytest.mark.parametrize("arm, n", ARMS)
def test_transducer_is_causal_and_ignores_padding(arm, n):
    network = small(arm, n)
    source = torch.randint(2, 12, (2, 5))
    target = torch.randint(2, 12, (2, 4))
    y = network(source, target)
    later = target.clone()
    later[:, 2:] = 2 + (later[:, 2:] - 1) % 10
    torch.testing.assert_close(network(source, later)[:, :2], y[:, :2])
    assert not torch.equal(network(source, later)[:, 2:], y[:, 2:])
    padded = torch.cat([source, torch.zeros(2, 3, dtype=torch.long)], 1)
    torch.testing.assert_close(network(padded, target), y)
    assert not torch.equal(network(source.flip(1), target), y)


def test_greedy_repeats_the_most_likely_token():
    network = small("phm", 2)
    source = torch.randint(2, 12, (3, 5))
    for row, tokens in zip(source, greedy(network.eval(), source, 6), strict=True):
        network.eval()
        begun = torch.tensor([[END, *tokens]])
        following = network(row[None], begun).argmax(-1)[0].tolist()
        assert following[: len(tokens)] == tokens and (len(tokens) == 6 or following[-1] == END)


def test_source_attention_equals_the_formula():
    torch.manual_seed(0)
    layer = SourceAttention(TextConfig("real", dim=8, heads=1)).double()
    x = torch.randn(1, 3, 8).double()
    source = torch.randn(1, 5, 8).double()
    q = layer.project[0](x)
    k = layer.project[1](source)
    v = layer.project[2](source)
    known = layer.out((q @ k.mT / 8**0.5).softmax(-1) @ v)
    torch.testing.assert_close(layer(x, torch.ones(1, 5, dtype=torch.bool), source), known)


@pytest.mark.parametrize(
    "arm, n, count",
    [
        ("real", 1, 44_107_776),
        ("full", 4, 11_077_632),
        ("partial", 4, 29_952_000),
        ("phm", 2, 22_088_208),
        ("phm", 4, 11_081_856),
        ("phm", 8, 5_606_400),
        ("phm", 16, 3_090_432),
    ],
)
def test_transducer_parameters_of_machine_translation(arm, n, count):
    """44M, 11M, 29M (Tay et al., Table 3), 22M, 11M (Zhang et al., Tables 2, 4): six layers of 512.

    5.5M and 2.9M for n = 8, 16 are not reached; biases are 67,584 of the difference.
    """
    with torch.device("meta"):
        network = Transducer(TextConfig(arm, n, dim=512, feed=2048, heads=8, layers=6), 10)
    assert matrix_parameters(network.encoder) + matrix_parameters(network.decoder) == count


@pytest.mark.parametrize("n, count", [(4, 44_179_584), (8, 22_189_056), (16, 11_415_552)])
def test_transducer_parameters_of_twice_the_width(n, count):
    """44M, 22M, 11M: the last three rows of Zhang et al., Table 2."""
    with torch.device("meta"):
        network = Transducer(TextConfig("phm", n, dim=1024, feed=4096, heads=8, layers=6), 10)
    assert matrix_parameters(network.encoder) + matrix_parameters(network.decoder) == count

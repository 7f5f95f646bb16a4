"""Pair classifiers: both texts count, padding does not; counts of the papers' tables."""

import pytest

torch = pytest.importorskip("torch")

from qse.experiments.networks.pairs import DecomposableClassifier, LstmClassifier, PairClassifier
from qse.experiments.pairs import Pairs, parameters

NETWORKS = {
    "q-att": lambda: PairClassifier(50, 3, 8, 4),
    "deatt": lambda: DecomposableClassifier(50, 3, 8, 6),
    "lstm": lambda: LstmClassifier(50, 3, 8, 4, hamilton=True),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_pair_classifier_depends_on_both_texts(name):
    torch.manual_seed(0)
    network, a, b = (
        NETWORKS[name]().eval(),
        torch.randint(1, 50, (1, 5)),
        torch.randint(1, 50, (1, 6)),
    )
    y = network(a, b)
    assert y.shape == (1, 3)
    assert not torch.equal(y, network(a.flip(1) % 49 + 1, b)) and not torch.equal(
        y, network(a, b % 49 + 1)
    )


@pytest.mark.parametrize("name", NETWORKS)
def test_pair_classifier_ignores_padding(name):
    torch.manual_seed(0)
    network = NETWORKS[name]().double().eval()
    a, b = torch.randint(1, 50, (2, 5)), torch.randint(1, 50, (2, 6))
    longer = [torch.cat([part, torch.zeros(2, 3, dtype=torch.long)], 1) for part in (a, b)]
    torch.testing.assert_close(network(*longer), network(a, b))


def test_decomposable_attention_aligns_by_dot_product():
    torch.manual_seed(0)
    network = DecomposableClassifier(9, 3, 4, 5).double().eval()
    a, b = torch.tensor([[1, 2]]), torch.tensor([[3, 4, 5]])
    x, y = (torch.relu(network.transform(network.embedding(part[0]))) for part in (a, b))
    scores = x @ y.T

    def compared(weights, others, own):
        aligned = weights @ others
        return network.compare(torch.cat([aligned, own, aligned * own, aligned - own], -1)).sum(0)

    c1, c2 = compared(scores.T.softmax(-1), x, y), compared(scores.softmax(-1), y, x)
    known = network.head(network.aggregate(torch.cat([c1, c2, c1 * c2, c1 - c2])))
    torch.testing.assert_close(network(a, b)[0], known)


@pytest.mark.parametrize(
    "arm, count",
    [("lstm", 721_200), ("quaternion-lstm", 181_200), ("phm-lstm-2", 361_264), ("phm-lstm-5", 146_200),
     ("phm-lstm-10", 81_200), ("q-att", 141_203), ("deatt", 381_203), ("deatt-small", 35_303)],
)  # fmt: skip
def test_pairs_parameters(arm, count):
    """Zhang et al., Table 1: 721K, 180K, 361K, 146K, 81K. Tay et al., Table 1: 200K, 700K, 200K are not reached."""
    settings = Pairs(embedding=300, channels=50)
    with torch.device("meta"):
        assert parameters(settings.network(arm, 100)) == count

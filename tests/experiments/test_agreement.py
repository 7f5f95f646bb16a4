"""Agreement of components: Eq. 20 by loops, chance, keys that all queries prefer."""

import pytest

torch = pytest.importorskip("torch")

from qse.experiments.agreement import agreement_rows


def test_agreement_equals_equation_20():
    weights = torch.rand(2, 3, 4, 6, 6).softmax(-1)
    seen = torch.arange(6) < torch.tensor([[6], [4]])
    rows = {(row["head"], row["pair"]): row for row in agreement_rows(weights, seen, 1)}
    expected = 0
    for text, length in ((0, 6), (1, 4)):
        for t in range(length):
            first, second = (weights[text, 2, part, t, :length].argmax() for part in (1, 3))
            expected += int(first == second)
    assert len(rows) == 18 and rows[2, "1-3"]["agreement"] == pytest.approx(expected / 10)
    assert rows[2, "1-3"]["chance"] == pytest.approx((6 / 6 + 4 / 4) / 10)


@pytest.mark.parametrize("top", [1, 5])
def test_agreement_of_random_weights_is_chance(top):
    weights, seen = torch.rand(20, 2, 4, 40, 40), torch.ones(20, 40, dtype=torch.bool)
    for row in agreement_rows(weights, seen, top):
        assert row["chance"] == pytest.approx(top / 40)
        assert row["agreement"] == pytest.approx(top / 40, abs=0.03) == row["marginal"]


def test_agreement_of_equal_components_is_complete():
    weights = torch.rand(2, 1, 1, 9, 9).expand(2, 1, 4, 9, 9)
    rows = list(agreement_rows(weights, torch.ones(2, 9, dtype=torch.bool), 5))
    assert all(row["agreement"] == pytest.approx(1) for row in rows)
    assert all(row["marginal"] < 0.8 for row in rows)


def test_marginal_counts_keys_that_all_queries_prefer():
    """One favourite key gives complete agreement that is independent of the queries."""
    weights = torch.rand(1, 1, 4, 8, 8)
    weights[..., 3] += 1
    for row in agreement_rows(weights, torch.ones(1, 8, dtype=torch.bool), 1):
        assert (row["agreement"], row["chance"], row["marginal"]) == pytest.approx((1, 1 / 8, 1))

"""Agreement of components: Eq. 20 by loops, chance, keys that all queries prefer."""

import pytest

torch = pytest.importorskip("torch")

from qse_papers.agreement import agreement


def rows(weights, seen, top):
    return {(row["head"], row["pair"]): row for row in agreement(weights, seen, top).rows()}


def test_agreement_equals_equation_20():
    weights = torch.rand(2, 3, 4, 6, 6).softmax(-1)
    seen = torch.arange(6) < torch.tensor([[6], [4]])
    found = rows(weights, seen, 1)
    expected = 0
    for text, length in ((0, 6), (1, 4)):
        for t in range(length):
            first, second = (weights[text, 2, part, t, :length].argmax() for part in (1, 3))
            expected += int(first == second)
    assert len(found) == 18 and found[2, "1-3"]["agreement"] == pytest.approx(expected / 10)
    assert found[2, "1-3"]["chance"] == pytest.approx((6 / 6 + 4 / 4) / 10)


def test_agreement_of_top_keys_equals_sets():
    weights = torch.rand(1, 1, 4, 7, 7)
    length = 5
    seen = torch.arange(7)[None] < length

    def largest(part, query):
        return set(weights[0, 0, part, query, :length].argsort(descending=True)[:3].tolist())

    common = 0
    at_random = 0
    for query in range(length):
        common += len(largest(0, query) & largest(2, query)) / 3 / length
        for other in range(length):
            at_random += len(largest(0, query) & largest(2, other)) / 3 / length**2
    row = rows(weights, seen, 3)[0, "0-2"]
    assert (row["agreement"], row["chance"], row["marginal"]) == pytest.approx(
        (common, 3 / length, at_random)
    )


def test_agreement_adds_up_over_inputs():
    weights = torch.rand(3, 2, 4, 6, 6)
    seen = torch.arange(6) < torch.tensor([[6], [4], [2]])
    parts = agreement(weights[:1], seen[:1], 1) + agreement(weights[1:], seen[1:], 1)
    torch.testing.assert_close(parts.sums, agreement(weights, seen, 1).sums)
    assert parts.queries == 12


@pytest.mark.parametrize("top", [1, 5])
def test_agreement_of_random_weights_is_chance(top):
    weights = torch.rand(20, 2, 4, 40, 40)
    seen = torch.ones(20, 40, dtype=torch.bool)
    for row in rows(weights, seen, top).values():
        assert row["chance"] == pytest.approx(top / 40)
        assert row["agreement"] == pytest.approx(top / 40, abs=0.03) == row["marginal"]


def test_agreement_of_equal_components_is_complete():
    weights = torch.rand(2, 1, 1, 9, 9).expand(2, 1, 4, 9, 9)
    found = rows(weights, torch.ones(2, 9, dtype=torch.bool), 5).values()
    for row in found:
        assert row["agreement"] == pytest.approx(1) and row["marginal"] < 0.8


def test_marginal_counts_keys_that_all_queries_prefer():
    """One favourite key gives complete agreement that is independent of the queries."""
    weights = torch.rand(1, 1, 4, 8, 8)
    weights[..., 3] += 1
    for row in rows(weights, torch.ones(1, 8, dtype=torch.bool), 1).values():
        assert (row["agreement"], row["chance"], row["marginal"]) == pytest.approx((1, 1 / 8, 1))

"""Hamilton-product attention between two sequences, against Tay et al.'s equations token by token."""

import pytest

torch = pytest.importorskip("torch")

from tensors import close, draw

from qse.nn.quaternion import hamilton_product
from qse.nn.research.pair_attention import PairAttention, align


def scores(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """E[i, j] = sum over channels of a_i (x) b_j: (La, 4, C), (Lb, 4, C) -> (La, Lb, 4)."""
    return hamilton_product(a[:, None], b[None], 2).sum(-1)


def test_align_is_section_3_2():
    a, b = draw(1, 3, 4, 2), draw(1, 5, 4, 2, seed=1)
    e = scores(a[0], b[0])
    every = torch.ones(1, 5, dtype=torch.bool)
    beta, alpha = align(a, b, every[:, :3], every)
    for i in range(3):
        close(beta[0, i], (e[i].softmax(0)[..., None] * b[0]).sum(0))
    for j in range(5):
        close(alpha[0, j], (e[:, j].softmax(0)[..., None] * a[0]).sum(0))


def test_pair_attention_is_section_3_2():
    torch.manual_seed(0)
    layer, a, b = PairAttention(2, 3).double(), draw(1, 3, 4, 2), draw(1, 5, 4, 2, seed=1)
    every = torch.ones(1, 5, dtype=torch.bool)
    beta, alpha = align(a, b, every[:, :3], every)

    def compared(aligned, own):
        rows = [
            torch.cat([x, y, hamilton_product(x, y, 0), x - y], -1)
            for x, y in zip(aligned[0], own[0], strict=True)
        ]
        return sum(layer.compare(row).relu() for row in rows)

    c1, c2 = compared(alpha, b), compared(beta, a)
    y = torch.cat([c1, c2, hamilton_product(c1, c2, 0), c1 - c2], -1)
    close(layer(a, b, every[:, :3], every)[0], layer.aggregate(y))


def test_pair_attention_ignores_padding():
    torch.manual_seed(0)
    layer, a, b = PairAttention(2, 3).double(), draw(2, 3, 4, 2), draw(2, 5, 4, 2, seed=1)
    seen_a, seen_b = torch.ones(2, 3, dtype=torch.bool), torch.ones(2, 5, dtype=torch.bool)
    y = layer(a, b, seen_a, seen_b)
    longer = [torch.cat([x, 9 * torch.ones(2, 2, 4, 2).double()], 1) for x in (a, b)]
    seen = [torch.cat([x, torch.zeros(2, 2, dtype=torch.bool)], 1) for x in (seen_a, seen_b)]
    close(layer(*longer, *seen), y)

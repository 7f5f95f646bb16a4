"""Hamilton-product attention between two sequences against Tay et al., token by token."""

import pytest

torch = pytest.importorskip("torch")

from qse_papers.networks.pair_attention import PairAttention, align
from tensors import close, draw

from qse.nn.quaternion import hamilton_product


def scores(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """E[i, j] = sum over channels of a_i (x) b_j: (La, 4, C), (Lb, 4, C) -> (La, Lb, 4)."""
    return hamilton_product(a[:, None], b[None], 2).sum(-1)


def test_align_is_section_3_2():
    a = draw(1, 3, 4, 2)
    b = draw(1, 5, 4, 2, seed=1)
    e = scores(a[0], b[0])
    every = torch.ones(1, 5, dtype=torch.bool)
    beta, alpha = align(a, b, every[:, :3], every)
    for i in range(3):
        close(beta[0, i], (e[i].softmax(0)[..., None] * b[0]).sum(0))
    for j in range(5):
        close(alpha[0, j], (e[:, j].softmax(0)[..., None] * a[0]).sum(0))


def test_pair_attention_is_section_3_2():
    torch.manual_seed(0)
    layer = PairAttention(2, 3).double()
    a = draw(1, 3, 4, 2)
    b = draw(1, 5, 4, 2, seed=1)
    every = torch.ones(1, 5, dtype=torch.bool)
    beta, alpha = align(a, b, every[:, :3], every)

    def compared(aligned, own):
        total = 0
        for x, y in zip(aligned[0], own[0], strict=True):
            row = torch.cat([x, y, hamilton_product(x, y, 0), x - y], -1)
            total = total + layer.compare(row).relu()
        return total

    c1 = compared(alpha, b)
    c2 = compared(beta, a)
    y = torch.cat([c1, c2, hamilton_product(c1, c2, 0), c1 - c2], -1)
    close(layer(a, b, every[:, :3], every)[0], layer.aggregate(y))


def test_pair_attention_ignores_padding():
    torch.manual_seed(0)
    layer = PairAttention(2, 3).double()
    a = draw(2, 3, 4, 2)
    b = draw(2, 5, 4, 2, seed=1)
    seen_a = torch.ones(2, 3, dtype=torch.bool)
    seen_b = torch.ones(2, 5, dtype=torch.bool)
    y = layer(a, b, seen_a, seen_b)
    nines = 9 * torch.ones(2, 2, 4, 2).double()
    hidden = torch.zeros(2, 2, dtype=torch.bool)
    longer_a = torch.cat([a, nines], 1)
    longer_b = torch.cat([b, nines], 1)
    z = layer(longer_a, longer_b, torch.cat([seen_a, hidden], 1), torch.cat([seen_b, hidden], 1))
    close(z, y)

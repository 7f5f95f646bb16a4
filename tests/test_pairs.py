"""Hamilton-product attention over time and between two sequences, against Tay et al.'s equations token by token."""

import pytest

torch = pytest.importorskip("torch")

import contract

from qse.nn import attention
from qse.nn.attention import CausalSharedScoreAttention
from qse.nn.quaternion import hamilton_product
from qse.nn.research.hamilton_stream import CausalHamiltonAttention
from qse.nn.research.pair_attention import PairAttention, align


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def close(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-11)


def scores(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """E[i, j] = sum over channels of a_i (x) b_j: (La, 4, C), (Lb, 4, C) -> (La, Lb, 4)."""
    return hamilton_product(a[:, None], b[None], 2).sum(-1)


@pytest.mark.parametrize("layer", [CausalSharedScoreAttention, CausalHamiltonAttention])
def test_attention_over_time_keeps_the_streaming_law(layer):
    torch.manual_seed(0)
    timed = layer(4, 2, window=5)
    with torch.no_grad():
        timed.bias.copy_(torch.randn(2, 5))
    contract.verify_stream(timed, draw(2, 23, 4, 4), dim=1)


@pytest.mark.parametrize("layer", [CausalSharedScoreAttention, CausalHamiltonAttention])
def test_long_recordings_are_taken_in_parts(layer, monkeypatch):
    torch.manual_seed(0)
    layer, x = layer(4, 2, window=5).double(), draw(2, 23, 4, 4)
    y, state = layer(x)
    monkeypatch.setattr(attention, "FRAMES_AT_ONCE", 4)
    z, after = layer(x)
    close(z, y)
    for name in state:
        close(after[name], state[name])


def test_hamilton_attention_over_time_is_equation_4():
    torch.manual_seed(0)
    layer, x, window = CausalHamiltonAttention(4, 2, window=3, qk_norm=False).double(), draw(1, 6, 4, 4), 3
    with torch.no_grad():
        layer.bias.copy_(draw(2, 3))
    heads, (q, k, v) = [], layer.project.linear(x)[0].chunk(3, -1)  # each 6, 4, C
    for n, part in enumerate((slice(0, 2), slice(2, 4))):
        rows = []
        for t in range(6):
            seen = list(range(max(0, t - window + 1), t + 1))
            score = scores(q[t : t + 1, :, part], k[seen][..., part])[0] / 2**0.5  # frames, 4
            weight = (score + torch.stack([layer.bias[n, t - s] for s in seen])[:, None]).softmax(0)
            rows.append((weight[..., None] * v[seen][..., part]).sum(0))
        heads.append(torch.stack(rows))
    close(layer(x)[0][0], layer.out(torch.cat(heads, -1)))


def test_alignment_is_section_3_2():
    a, b = draw(1, 3, 4, 2), draw(1, 5, 4, 2, seed=1)
    e = scores(a[0], b[0])
    every = torch.ones(1, 5, dtype=torch.bool)
    beta, alpha = align(a, b, every[:, :3], every)
    for i in range(3):
        close(beta[0, i], (e[i].softmax(0)[..., None] * b[0]).sum(0))
    for j in range(5):
        close(alpha[0, j], (e[:, j].softmax(0)[..., None] * a[0]).sum(0))


def test_comparison_and_aggregation_are_section_3_2():
    torch.manual_seed(0)
    layer, a, b = PairAttention(2, 3).double(), draw(1, 3, 4, 2), draw(1, 5, 4, 2, seed=1)
    every = torch.ones(1, 5, dtype=torch.bool)
    beta, alpha = align(a, b, every[:, :3], every)

    def compared(aligned, own):
        rows = [
            torch.cat([x, y, hamilton_product(x, y, 0), x - y], -1) for x, y in zip(aligned[0], own[0], strict=True)
        ]
        return sum(layer.compare(row).relu() for row in rows)

    c1, c2 = compared(alpha, b), compared(beta, a)
    y = torch.cat([c1, c2, hamilton_product(c1, c2, 0), c1 - c2], -1)
    close(layer(a, b, every[:, :3], every)[0], layer.aggregate(y))


def test_padding_changes_nothing():
    torch.manual_seed(0)
    layer, a, b = PairAttention(2, 3).double(), draw(2, 3, 4, 2), draw(2, 5, 4, 2, seed=1)
    seen_a, seen_b = torch.ones(2, 3, dtype=torch.bool), torch.ones(2, 5, dtype=torch.bool)
    y = layer(a, b, seen_a, seen_b)
    longer = [torch.cat([x, 9 * torch.ones(2, 2, 4, 2).double()], 1) for x in (a, b)]
    seen = [torch.cat([x, torch.zeros(2, 2, dtype=torch.bool)], 1) for x in (seen_a, seen_b)]
    close(layer(*longer, *seen), y)

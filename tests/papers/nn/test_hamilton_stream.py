"""Hamilton-product attention over time against Tay et al.'s equations; the streaming contract."""

import pytest

torch = pytest.importorskip("torch")

from qse_papers.nn.hamilton import CausalHamiltonAttention
from tensors import close, draw

from qse.nn import contract
from qse.nn.quaternion import hamilton_product


def scores(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """E[i, j] = sum over channels of a_i (x) b_j: (La, 4, C), (Lb, 4, C) -> (La, Lb, 4)."""
    return hamilton_product(a[:, None], b[None], 2).sum(-1)


def test_causal_hamilton_attention_streams():
    torch.manual_seed(0)
    timed = CausalHamiltonAttention(4, 2, window=5)
    with torch.no_grad():
        timed.bias.copy_(torch.randn(2, 5))
    contract.verify_stream(timed, draw(2, 23, 4, 4), dim=1)


def test_causal_hamilton_attention_is_equation_4():
    torch.manual_seed(0)
    layer = CausalHamiltonAttention(4, 2, window=3, qk_norm=False).double()
    x = draw(1, 6, 4, 4)
    window = 3
    with torch.no_grad():
        layer.bias.copy_(draw(2, 3))
    heads = []
    q, k, v = layer.project.linear(x)[0].chunk(3, -1)  # each 6, 4, C
    for n, part in enumerate((slice(0, 2), slice(2, 4))):
        rows = []
        for t in range(6):
            seen = list(range(max(0, t - window + 1), t + 1))
            score = scores(q[t : t + 1, :, part], k[seen][..., part])[0] / 2**0.5  # frames, 4
            bias = layer.bias[n, : len(seen)].flip(0)  # by distance, the oldest frame first
            weight = (score + bias[:, None]).softmax(0)
            rows.append((weight[..., None] * v[seen][..., part]).sum(0))
        heads.append(torch.stack(rows))
    close(layer(x)[0][0], layer.out(torch.cat(heads, -1)))

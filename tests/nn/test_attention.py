"""Shared-score attention against its equations, in float64; the streaming contract; the count of
products."""

import pytest

torch = pytest.importorskip("torch")

import attention_equations as eq
from qse_papers.nn.hamilton import CausalHamiltonAttention
from tensors import as_trained, close, draw, sixteen_products
from torch.nn import functional as F

from qse.nn import attention, contract
from qse.nn.attention import CausalSharedScoreAttention, SharedScoreAttention
from qse.nn.norm import QuaternionRMSNorm
from qse.nn.quaternion import conjugate, hamilton_product, modulus


def queries_keys_values(layer, x, heads: int) -> list:
    """Eq. 8 for each head: three tensors (N, H, L, d, 4), quaternions last; Q and K through Eqs.
    17-18 if asked."""
    width = x.shape[-1] // heads
    found = []
    # the rows of the projection: queries, keys, values, and heads within each
    for part in range(3):
        rows = slice(part * x.shape[-1], (part + 1) * x.shape[-1])
        y = sixteen_products(
            x.unbind(-2), layer.project.linear.weight[:, rows], lambda a, b: a @ b.T
        ).movedim(0, -1)
        y = y + layer.project.linear.bias[:, rows].T  # N, L, C, 4
        found.append(torch.stack([y[:, :, h * width : (h + 1) * width] for h in range(heads)], 1))
    for part, norm in enumerate((layer.project.norm_q, layer.project.norm_k)):
        if isinstance(norm, QuaternionRMSNorm):
            rms = (found[part].square().sum(-1, keepdim=True) / 4 + 1e-6).sqrt()
            found[part] = found[part] / rms * norm.gain[:, None]
    return found


def project_out(layer, heads_out) -> torch.Tensor:
    """(N, H, L, d, 4) -> (N, L, 4, C) through the output projection."""
    merged = torch.cat(heads_out.unbind(1), 2).mT  # N, L, 4, H d
    y = sixteen_products(merged.unbind(-2), layer.out.weight, lambda a, b: a @ b.T).movedim(0, -2)
    return y + layer.out.bias


def scores(q, k) -> torch.Tensor:
    """Eq. 9: Re(Q (x) K+) / sqrt(4 d), the Hamilton product of each query with each conjugate key,
    summed over d."""
    pairs = hamilton_product(q[:, :, :, None], conjugate(k)[:, :, None])  # N, H, L, L, d, 4
    return pairs[..., 0].sum(-1) / (4 * q.shape[-2]) ** 0.5


def literal_attention(layer, x, heads: int) -> torch.Tensor:
    """Eqs. 9-13 one after the other."""
    q, k, v = queries_keys_values(layer, x, heads)
    weights = scores(q, k).exp()
    weights = weights / weights.sum(-1, keepdim=True)  # Eq. 11
    # Eqs. 12-13
    parts = [torch.einsum("nhij,nhjd->nhid", weights, v[..., part]) for part in range(4)]
    return project_out(layer, torch.stack(parts, -1))


@pytest.mark.parametrize("few_tokens", [0, 64])
@pytest.mark.parametrize("qk_norm", [True, False])
@pytest.mark.parametrize("heads", [1, 3])
def test_shared_score_attention_is_equations_8_to_13(heads, qk_norm, few_tokens, monkeypatch):
    monkeypatch.setattr(attention, "FEW_TOKENS", few_tokens)
    layer = as_trained(SharedScoreAttention(6, heads, qk_norm), 0.3).double()
    x = draw(2, 5, 4, 6).requires_grad_()
    eq.assert_same(
        lambda: layer(x), lambda: literal_attention(layer, x, heads), x, *layer.parameters()
    )


def test_shared_score_attention_is_equivariant_to_rotation():
    """u (x) x in gives u (x) y out: heads hold whole quaternions."""
    layer = as_trained(SharedScoreAttention(6, 3), 0.3).double()
    x = draw(2, 5, 6, 4)
    layer.project.linear.bias.data.zero_(), layer.out.bias.data.zero_()
    u = draw(4)
    u = u / modulus(u)
    turned = layer(hamilton_product(u, x).mT).mT
    close(turned, hamilton_product(u, layer(x.mT).mT))


@pytest.mark.parametrize(
    "make", [SharedScoreAttention, lambda c, h: CausalSharedScoreAttention(c, h, 4)]
)
def test_attention_refuses_heads_that_do_not_divide(make):
    with pytest.raises(ValueError, match="3 heads do not divide 4 quaternion channels"):
        make(4, 3)


def test_causal_attention_equals_a_loop_over_frames():
    heads = 2
    window = 4
    layer = as_trained(CausalSharedScoreAttention(4, heads, window), 0.3).double()
    x = draw(3, 9, 4, 4)
    q, k, v = queries_keys_values(layer, x, heads)
    all_scores = scores(q, k)
    rows = []
    for t in range(9):
        first = max(0, t - window + 1)
        # by distance, now = 0
        row = all_scores[:, :, t, first : t + 1] + layer.bias[:, : t + 1 - first].flip(1)
        weights = row.softmax(-1)
        rows.append((weights[..., None, None] * v[:, :, first : t + 1]).sum(2))
    expected = project_out(layer, torch.stack(rows, 2))
    y, state = layer(x)
    close(y, expected)
    assert state["valid"].tolist() == [[1, 1, 1]] * 3 and state["keys"].shape == (3, heads, 3, 8)


def test_causal_attention_normalises_queries_and_keys():
    """So that the level of the input changes the values, not where they come from."""
    layer = CausalSharedScoreAttention(4, 2, window=4).double()  # its biases begin at zero
    x = draw(2, 9, 4, 4)
    torch.testing.assert_close(layer(10 * x)[0], 10 * layer(x)[0], rtol=1e-4, atol=1e-4)


def test_causal_attention_counts_valid_frames():
    _, state = CausalSharedScoreAttention(4, 2, window=4)(torch.randn(1, 2, 4, 4))
    assert state["valid"].tolist() == [[0, 1, 1]]


@pytest.mark.parametrize("window", [1, 5, 30])
def test_causal_attention_streams(window):
    contract.verify_stream(
        as_trained(CausalSharedScoreAttention(4, 2, window), 0.3).double(), draw(2, 17, 4, 4), dim=1
    )


@pytest.mark.parametrize("layer", [CausalSharedScoreAttention, CausalHamiltonAttention])
def test_causal_attention_processes_long_input_in_parts(layer, monkeypatch):
    torch.manual_seed(0)
    layer = layer(4, 2, window=5).double()
    x = draw(2, 23, 4, 4)
    y, state = layer(x)
    monkeypatch.setattr(attention, "FRAMES_AT_ONCE", 4)
    z, after = layer(x)
    close(z, y)
    for name in state:
        close(after[name], state[name])


@pytest.mark.parametrize("qk_norm", [False, True])
def test_attend_computes_bfloat16_in_float32(qk_norm, monkeypatch):
    seen = []

    def spy(q, k, v, **options):
        seen.extend([q.dtype, k.dtype, v.dtype, torch.is_autocast_enabled("cpu")])
        return q

    monkeypatch.setattr(F, "scaled_dot_product_attention", spy)
    monkeypatch.setattr(attention, "FEW_TOKENS", 0)
    layer = SharedScoreAttention(4, 2, qk_norm).float()
    with torch.autocast("cpu", torch.bfloat16):
        layer(torch.randn(2, 5, 4, 4, dtype=torch.float32))
    assert seen == [torch.float32] * 3 + [False]


def test_attend_computes_few_tokens_in_float32():
    q, k, v = (torch.randn(2, 3, 5, 8, dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
    with torch.autocast("cpu", torch.bfloat16):
        y = attention.attend(q, k, v)
    expected = F.scaled_dot_product_attention(q.float(), k.float(), v.float())
    torch.testing.assert_close(y, expected, rtol=1e-6, atol=1e-6)

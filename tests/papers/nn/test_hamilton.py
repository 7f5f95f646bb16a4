"""Hamilton-product attention against its equations; Theorem C.1 and Corollary C.2 on its scores.

The theorem: the four Hamilton scores and the shared score are bilinear forms of the input, and
their coefficient matrices lie in one subspace. Its tests use real matrices, one per component, as
the proof does. X, Q, K: lists of four (T, d) matrices; a letter a, b, c, m, n is a component.
"""

from itertools import product

import pytest

torch = pytest.importorskip("torch")

import attention_equations as eq
from attention_equations import C, D, H, L, N
from qse_papers.nn.hamilton import (
    HamiltonAttention,
    component_attention,
    component_scores,
    folded_attention,
    written_out_,
)
from torch.nn import functional as F

from qse.export.cost import macs
from qse.nn import attention
from qse.nn.linear import QuaternionLinear

pytestmark = pytest.mark.usefixtures("float64")

# tokens, channels in, channels of queries and keys
T = 6
IN = 5
OUT = 3


CASES = {
    "hamilton, folded": (HamiltonAttention, eq.hamilton),
    "hamilton, literal": (lambda *sizes: written_out_(HamiltonAttention(*sizes)), eq.hamilton),
}


@pytest.mark.parametrize("few_tokens", [0, 64])
@pytest.mark.parametrize(("kind", "attend"), CASES.values(), ids=CASES)
def test_hamilton_attention_is_equations_14_to_16(kind, attend, few_tokens, monkeypatch):
    monkeypatch.setattr(attention, "FEW_TOKENS", few_tokens)
    layer = eq.random_layer(kind)
    x = torch.randn(N, L, 4, C, requires_grad=True)
    eq.assert_same(lambda: layer(x), lambda: eq.by_hand(layer, x, attend), x, *layer.parameters())


def test_hamilton_attention_differs_from_shared_score():
    layer = eq.random_layer(HamiltonAttention)
    x = torch.randn(N, L, 4, C)
    assert (layer(x) - eq.by_hand(layer, x, eq.shared)).abs().max() > 1e-2


@pytest.mark.parametrize("attend", [component_attention, folded_attention])
def test_hamilton_forms_agree(attend):
    q, k, v = (torch.randn(N, H, L, 4, D, requires_grad=True) for _ in range(3))
    written_out = (part.transpose(-1, -2) for part in (q, k, v))
    eq.assert_same(
        lambda: attend(q, k, v), lambda: eq.hamilton(*written_out).transpose(-1, -2), q, k, v
    )


@pytest.mark.parametrize(("length", "ours", "theirs"), [(512, 134e6, 336e6), (1024, 537e6, 1.34e9)])
def test_macs_of_table_9(length, ours, theirs):
    """d_model = 64 quaternions, 8 heads."""
    real = [torch.empty(1, 8, length, 32, device="meta")] * 3
    quaternion = [torch.empty(1, 8, length, 4, 8, device="meta")] * 3
    assert macs(F.scaled_dot_product_attention, *real) == pytest.approx(ours, rel=3e-3)
    assert macs(component_attention, *quaternion) == pytest.approx(theirs, rel=3e-3)


TERMS = (
    ((0, 0, 1), (1, 1, -1), (2, 2, -1), (3, 3, -1)),
    ((0, 1, 1), (1, 0, 1), (2, 3, 1), (3, 2, -1)),
    ((0, 2, 1), (1, 3, -1), (2, 0, 1), (3, 1, 1)),
    ((0, 3, 1), (1, 2, 1), (2, 1, -1), (3, 0, 1)),
)


def coefficients(layer):
    """Phi(W) of Eq. 52, row by row: Phi[m][b] is the (in, d) matrix with Q_m = sum over b of X_b
    Phi[m][b]."""
    w0, w1, w2, w3 = (part.T for part in layer.weight.detach())
    return ((w0, -w1, -w2, -w3), (w1, w0, w3, -w2), (w2, -w3, w0, w1), (w3, w2, -w1, w0))


@pytest.fixture
def scene():
    """X, direct Q and K as (T, 4, d), and Phi(W_Q), Psi(W_K)."""
    torch.manual_seed(0)
    query, key = (QuaternionLinear(IN, OUT, bias=False).double() for _ in range(2))
    x = torch.randn(T, 4, IN, dtype=torch.float64)
    with torch.no_grad():
        return x.unbind(1), query(x), key(x), coefficients(query), coefficients(key)


def rebuilt(x, matrices):
    """Eqs. 46 and 61: the sum over b, c of X_b M^(bc) X_c^T."""
    return sum(x[b] @ matrices[b][c] @ x[c].T for b, c in product(range(4), range(4)))


def lam(phi, psi, a):
    """Eq. 59."""

    def entry(b, c):
        return sum(sign * phi[m][b] @ psi[n][c].T for m, n, sign in TERMS[a])

    return table(entry)


def mu(phi, psi):
    """Eq. 64."""

    def entry(b, c):
        return sum(phi[a][b] @ psi[a][c].T for a in range(4))

    return table(entry)


def table(entry):
    """Return 4 rows of 4 entries."""
    rows = []
    for b in range(4):
        rows.append([entry(b, c) for c in range(4)])
    return rows


@pytest.mark.parametrize("a", range(4))
def test_component_scores_theorem_c1(scene, a):
    x, q, k, phi, psi = scene
    # the theorem leaves the scale out
    direct = component_scores(q[None, None], k[None, None])[0, 0, a] * OUT**0.5
    torch.testing.assert_close(rebuilt(x, lam(phi, psi, a)), direct, rtol=1e-12, atol=1e-12)


def test_shared_score_corollary_c2(scene):
    x, q, k, phi, psi = scene
    direct = q.flatten(1) @ k.flatten(1).T  # Eq. 10 without the scale
    torch.testing.assert_close(rebuilt(x, mu(phi, psi)), direct, rtol=1e-12, atol=1e-12)


def test_score_coefficients_lie_in_one_subspace(scene):
    """No Lambda and no M leaves the span of the products Phi Psi^T (Eq. 60), which is smaller than
    all matrices."""
    *_, phi, psi = scene
    rows = [phi[m][b] @ psi[n][c].T for m, b, n, c in product(range(4), repeat=4)]
    span = torch.stack([row.flatten() for row in rows])
    rank = torch.linalg.matrix_rank(span)
    matrices = []
    for coefficients_of in (*(lam(phi, psi, a) for a in range(4)), mu(phi, psi)):
        for row in coefficients_of:
            matrices += row
    both = torch.cat([span, torch.stack([matrix.flatten() for matrix in matrices])])
    assert torch.linalg.matrix_rank(both) == rank
    assert rank <= 16  # products of four matrices with four matrices, signs aside
    assert rank < IN * IN

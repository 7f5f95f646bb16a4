"""Theorem C.1 and Corollary C.2: the four Hamilton scores and the shared score are bilinear forms of the input, and
their coefficient matrices lie in one subspace. Everything here is real matrices, one per component, as in the proof.

X, Q, K: lists of four (T, d) matrices; a letter a, b, c, m, n is a component.
"""

import pytest
import torch

from qse.nn.hamilton import component_scores
from qse.nn.linear import QuaternionLinear

T, IN, D = 6, 5, 3

# Eqs. 53-56: S_a is the sum of sign * Q_m K_n^T.
TERMS = (
    ((0, 0, 1), (1, 1, -1), (2, 2, -1), (3, 3, -1)),
    ((0, 1, 1), (1, 0, 1), (2, 3, 1), (3, 2, -1)),
    ((0, 2, 1), (1, 3, -1), (2, 0, 1), (3, 1, 1)),
    ((0, 3, 1), (1, 2, 1), (2, 1, -1), (3, 0, 1)),
)


def coefficients(layer):
    """Phi(W) of Eq. 52, row by row: Phi[m][b] is the (in, d) matrix with Q_m = sum over b of X_b Phi[m][b]."""
    w0, w1, w2, w3 = (part.T for part in layer.weight.detach())
    return ((w0, -w1, -w2, -w3), (w1, w0, w3, -w2), (w2, -w3, w0, w1), (w3, w2, -w1, w0))


@pytest.fixture
def scene():
    """X, direct Q and K as (T, 4, d), and Phi(W_Q), Psi(W_K)."""
    torch.manual_seed(0)
    query, key = (QuaternionLinear(IN, D, bias=False).double() for _ in range(2))
    x = torch.randn(T, 4, IN, dtype=torch.float64)
    with torch.no_grad():
        return x.unbind(1), query(x), key(x), coefficients(query), coefficients(key)


def rebuilt(x, matrices):
    """Eqs. 46 and 61: the sum over b, c of X_b M^(bc) X_c^T."""
    return sum(x[b] @ matrices[b][c] @ x[c].T for b in range(4) for c in range(4))


def lam(phi, psi, a):
    """Eq. 59."""
    return [[sum(sign * phi[m][b] @ psi[n][c].T for m, n, sign in TERMS[a]) for c in range(4)] for b in range(4)]


def mu(phi, psi):
    """Eq. 64."""
    return [[sum(phi[a][b] @ psi[a][c].T for a in range(4)) for c in range(4)] for b in range(4)]


@pytest.mark.parametrize("a", range(4))
def test_theorem_c1(scene, a):
    x, q, k, phi, psi = scene
    direct = component_scores(q[None, None], k[None, None])[0, 0, a] * D**0.5  # the theorem leaves the scale out
    torch.testing.assert_close(rebuilt(x, lam(phi, psi, a)), direct, rtol=1e-12, atol=1e-12)


def test_corollary_c2(scene):
    x, q, k, phi, psi = scene
    direct = q.flatten(1) @ k.flatten(1).T  # Eq. 10 without the scale
    torch.testing.assert_close(rebuilt(x, mu(phi, psi)), direct, rtol=1e-12, atol=1e-12)


def test_one_subspace(scene):
    """No Lambda and no M leaves the span of the products Phi Psi^T (Eq. 60), which is smaller than all matrices."""
    *_, phi, psi = scene
    rows = [phi[m][b] @ psi[n][c].T for m in range(4) for b in range(4) for n in range(4) for c in range(4)]
    span = torch.stack([row.flatten() for row in rows])
    rank = torch.linalg.matrix_rank(span)
    matrices = [matrix for a in range(4) for row in lam(phi, psi, a) for matrix in row]
    matrices += [matrix for row in mu(phi, psi) for matrix in row]
    both = torch.cat([span, torch.stack([matrix.flatten() for matrix in matrices])])
    assert torch.linalg.matrix_rank(both) == rank
    assert rank <= 16  # products of four matrices with four matrices, signs aside
    assert rank < IN * IN

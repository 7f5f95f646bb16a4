"""Quaternion algebra against its axioms and against 2 x 2 complex matrices, which multiply
likewise; Eq. 28."""

import pytest

torch = pytest.importorskip("torch")

from tensors import close, draw

from qse.nn.quaternion import conjugate, hamilton_matrix, hamilton_product, modulus

ONE, I, J, K = torch.eye(4, dtype=torch.float64)


TABLE = {  # row times column
    "ii": -ONE, "jj": -ONE, "kk": -ONE, "ij": K, "jk": I, "ki": J, "ji": -K, "kj": -I, "ik": -J,
}  # fmt: skip


def as_matrix(q: torch.Tensor) -> torch.Tensor:
    """(..., 4) -> (..., 2, 2) complex: a + bi + cj + dk as [[a + bi, c + di], [-c + di,
    a - bi]]."""
    z = torch.complex(q[..., 0], q[..., 1])
    w = torch.complex(q[..., 2], q[..., 3])
    return torch.stack([torch.stack([z, w], -1), torch.stack([-w.conj(), z.conj()], -1)], -2)


@pytest.mark.parametrize("pair", TABLE)
def test_hamilton_product_of_units(pair):
    units = {"i": I, "j": J, "k": K}
    close(hamilton_product(units[pair[0]], units[pair[1]]), TABLE[pair])


def test_hamilton_product_ijk_is_minus_one():
    close(hamilton_product(hamilton_product(I, J), K), -ONE)


def test_hamilton_product_matches_complex_matrices():
    p = draw(50, 4, seed=1)
    q = draw(50, 4, seed=2)
    close(as_matrix(hamilton_product(p, q)), as_matrix(p) @ as_matrix(q))


def test_hamilton_product_is_associative_not_commutative():
    p, q, r = draw(3, 50, 4).unbind()
    close(hamilton_product(hamilton_product(p, q), r), hamilton_product(p, hamilton_product(q, r)))
    assert (hamilton_product(p, q) - hamilton_product(q, p)).abs().max() > 0.1


def test_modulus_is_multiplicative():
    p, q = draw(2, 50, 4).unbind()
    close(modulus(hamilton_product(p, q)), modulus(p) * modulus(q))


def test_conjugate_reverses_products():
    p, q = draw(2, 50, 4).unbind()
    close(conjugate(hamilton_product(p, q)), hamilton_product(conjugate(q), conjugate(p)))


def test_conjugate_product_is_squared_modulus():  # Eq. 3
    q = draw(50, 4)
    close(hamilton_product(q, conjugate(q)), modulus(q)[:, None] ** 2 * ONE)


def inner_product(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """Main paper, Eqs. 33 and 36: (..., d, 4) twice -> (...)."""
    return hamilton_product(q, conjugate(k))[..., 0].sum(-1)


def test_inner_product_is_proposition_b1():
    q = draw(3, 5, 4)
    k = draw(3, 5, 4)
    other = draw(3, 5, 4)
    # Eq. 38: that of 4 d real numbers, hence bilinear
    close(inner_product(q, k), (q * k).sum((-1, -2)))
    close(inner_product(q, k), inner_product(k, q))
    close(
        inner_product(2 * q - 3 * other, k), 2 * inner_product(q, k) - 3 * inner_product(other, k)
    )
    assert (inner_product(q, q) > 0).all() and not inner_product(0 * q, 0 * q).any()


def test_real_part_without_the_conjugate_is_negative():  # appendix B.2
    assert hamilton_product(I, I)[0] == -1


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -2, -3])
def test_algebra_on_any_component_axis(dim):
    p = draw(3, 5, 4, seed=1)
    q = draw(3, 5, 4, seed=2)
    elsewhere = [x.movedim(-1, dim) for x in (p, q)]
    close(hamilton_product(*elsewhere, dim).movedim(dim, -1), hamilton_product(p, q))
    close(conjugate(elsewhere[0], dim).movedim(dim, -1), conjugate(p))
    close(modulus(elsewhere[0], dim), p.square().sum(-1).sqrt())


def test_hamilton_product_broadcasts():
    p = draw(6, 1, 4, seed=1)
    q = draw(5, 4, seed=2)
    close(hamilton_product(p, q), hamilton_product(p.expand(6, 5, 4), q.expand(6, 5, 4)))


def test_hamilton_matrix_is_equation_28():
    w0, w1, w2, w3 = w = draw(4)
    rows = [[w0, -w1, -w2, -w3], [w1, w0, w3, -w2], [w2, -w3, w0, w1], [w3, w2, -w1, w0]]
    close(hamilton_matrix(w.view(4, 1, 1)), torch.tensor(rows, dtype=torch.float64))


def test_hamilton_matrix_is_right_multiplication():
    out = 3
    into = 5
    w = draw(4, out, into, seed=1)
    x = draw(4, into, seed=2)
    expected = []
    for o in range(out):
        expected.append(sum(as_matrix(x[:, c]) @ as_matrix(w[:, o, c]) for c in range(into)))
    y = (hamilton_matrix(w) @ x.flatten()).view(4, out)
    close(as_matrix(y.T), torch.stack(expected))


def test_hamilton_matrix_of_a_kernel():
    w = draw(4, 3, 2, 2, 5)
    matrix = hamilton_matrix(w)
    assert matrix.shape == (12, 8, 2, 5)
    for t in range(2):
        for f in range(5):
            close(matrix[..., t, f], hamilton_matrix(w[..., t, f]))


def test_hamilton_matrix_of_a_unit_is_a_rotation():
    w = draw(4)
    m = hamilton_matrix((w / modulus(w)).view(4, 1, 1))
    close(m @ m.T, torch.eye(4, dtype=torch.float64))
    close(torch.linalg.det(m), torch.tensor(1.0, dtype=torch.float64))


def test_hamilton_matrix_gradient():
    assert torch.autograd.gradcheck(hamilton_matrix, draw(4, 2, 3, 2).requires_grad_())


def test_hamilton_matrix_gradient_after_inference_mode():
    odd = torch.float16  # a type that no other test uses: its basis is made here
    with torch.inference_mode():
        hamilton_matrix(torch.ones(4, 1, 1, dtype=odd))
    weight = torch.ones(4, 1, 1, dtype=odd, requires_grad=True)
    hamilton_matrix(weight).sum().backward()
    # each column of signs in Eq. 28 summed up
    assert weight.grad.flatten().tolist() == [
        4,
        0,
        0,
        0,
    ]


def test_hamilton_matrix_after_tracing():
    class Matrix(torch.nn.Module):
        def forward(self, weight):
            return hamilton_matrix(weight)

    weight = torch.ones(4, 1, 1, dtype=torch.bfloat16)  # a type that no other test uses
    torch.export.export(Matrix(), (weight,), strict=False)
    assert type(hamilton_matrix(weight)) is torch.Tensor

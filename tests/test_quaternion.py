"""The algebra against its axioms and against 2 x 2 complex matrices, which multiply as quaternions do; Eq. 28."""

import pytest

torch = pytest.importorskip("torch")

from qse.nn.quaternion import conjugate, hamilton_matrix, hamilton_product, modulus

ONE, I, J, K = torch.eye(4, dtype=torch.float64)
TABLE = {  # Hamilton's: row times column
    "ii": -ONE, "jj": -ONE, "kk": -ONE, "ij": K, "jk": I, "ki": J, "ji": -K, "kj": -I, "ik": -J,
}  # fmt: skip


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def close(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


def as_matrix(q: torch.Tensor) -> torch.Tensor:
    """(..., 4) -> (..., 2, 2) complex: a + bi + cj + dk as [[a + bi, c + di], [-c + di, a - bi]]."""
    z, w = torch.complex(q[..., 0], q[..., 1]), torch.complex(q[..., 2], q[..., 3])
    return torch.stack([torch.stack([z, w], -1), torch.stack([-w.conj(), z.conj()], -1)], -2)


@pytest.mark.parametrize("pair", TABLE)
def test_units(pair):
    units = {"i": I, "j": J, "k": K}
    close(hamilton_product(units[pair[0]], units[pair[1]]), TABLE[pair])


def test_ijk_is_minus_one():
    close(hamilton_product(hamilton_product(I, J), K), -ONE)


def test_product_is_that_of_complex_matrices():
    p, q = draw(50, 4, seed=1), draw(50, 4, seed=2)
    close(as_matrix(hamilton_product(p, q)), as_matrix(p) @ as_matrix(q))


def test_product_is_associative_and_does_not_commute():
    p, q, r = draw(3, 50, 4).unbind()
    close(hamilton_product(hamilton_product(p, q), r), hamilton_product(p, hamilton_product(q, r)))
    assert (hamilton_product(p, q) - hamilton_product(q, p)).abs().max() > 0.1


def test_modulus_is_multiplicative():
    p, q = draw(2, 50, 4).unbind()
    close(modulus(hamilton_product(p, q)), modulus(p) * modulus(q))


def test_conjugate_turns_products_around():
    p, q = draw(2, 50, 4).unbind()
    close(conjugate(hamilton_product(p, q)), hamilton_product(conjugate(q), conjugate(p)))


def test_a_quaternion_times_its_conjugate_is_its_squared_modulus():  # Eq. 3
    q = draw(50, 4)
    close(hamilton_product(q, conjugate(q)), modulus(q)[:, None] ** 2 * ONE)


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -2, -3])
def test_any_axis_may_hold_the_components(dim):
    p, q = draw(3, 5, 4, seed=1), draw(3, 5, 4, seed=2)
    there = [x.movedim(-1, dim) for x in (p, q)]
    close(hamilton_product(*there, dim).movedim(dim, -1), hamilton_product(p, q))
    close(conjugate(there[0], dim).movedim(dim, -1), conjugate(p))
    close(modulus(there[0], dim), p.square().sum(-1).sqrt())


def test_product_broadcasts():
    p, q = draw(6, 1, 4, seed=1), draw(5, 4, seed=2)
    close(hamilton_product(p, q), hamilton_product(p.expand(6, 5, 4), q.expand(6, 5, 4)))


def test_matrix_of_one_weight_is_equation_28():
    w0, w1, w2, w3 = w = draw(4)
    rows = [[w0, -w1, -w2, -w3], [w1, w0, w3, -w2], [w2, -w3, w0, w1], [w3, w2, -w1, w0]]
    close(hamilton_matrix(w.view(4, 1, 1)), torch.tensor(rows, dtype=torch.float64))


def test_matrix_is_right_multiplication_of_every_channel():
    out, into = 3, 5
    w, x = draw(4, out, into, seed=1), draw(4, into, seed=2)
    expected = [sum(as_matrix(x[:, c]) @ as_matrix(w[:, o, c]) for c in range(into)) for o in range(out)]
    y = (hamilton_matrix(w) @ x.flatten()).view(4, out)
    close(as_matrix(y.T), torch.stack(expected))


def test_matrix_of_a_kernel_is_one_matrix_per_position():
    w = draw(4, 3, 2, 2, 5)
    whole = hamilton_matrix(w)
    assert whole.shape == (12, 8, 2, 5)
    for t in range(2):
        for f in range(5):
            close(whole[..., t, f], hamilton_matrix(w[..., t, f]))


def test_matrix_of_a_unit_quaternion_turns_and_does_not_stretch():
    w = draw(4)
    m = hamilton_matrix((w / modulus(w)).view(4, 1, 1))
    close(m @ m.T, torch.eye(4, dtype=torch.float64))
    close(torch.linalg.det(m), torch.tensor(1.0, dtype=torch.float64))


def test_matrix_has_the_gradient_of_its_entries():
    assert torch.autograd.gradcheck(hamilton_matrix, draw(4, 2, 3, 2).requires_grad_())


def test_matrix_is_differentiable_after_its_first_use_in_inference_mode():
    odd = torch.float16  # a type that no other test uses: its basis is made here
    with torch.inference_mode():
        hamilton_matrix(torch.ones(4, 1, 1, dtype=odd))
    weight = torch.ones(4, 1, 1, dtype=odd, requires_grad=True)
    hamilton_matrix(weight).sum().backward()
    assert weight.grad.flatten().tolist() == [4, 0, 0, 0]  # each column of signs in Eq. 28 summed up

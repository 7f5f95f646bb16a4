"""Muon's steps against singular values by LAPACK, and its runs against going on."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

import small_training
from torch import nn

from qse.nn.quaternion import hamilton_matrix
from qse.train.muon import SIZE, QuaternionMuon, equalised

PLAN = replace(small_training.PLAN, optimizer="muon")


@pytest.mark.parametrize("shape", [(3, 5), (6, 2), (4, 3, 2, 3)])
def test_muon_step_approximates_the_polar_factor(shape):
    torch.manual_seed(0)
    weight = torch.randn(4, *shape, dtype=torch.float64)
    step = equalised(weight[None]).view_as(weight)
    real = hamilton_matrix(weight).flatten(1)
    of_step = hamilton_matrix(step).flatten(1)
    left, _, right = torch.linalg.svd(real, full_matrices=False)
    values = torch.linalg.svdvals(of_step) / (SIZE * max(real.shape) ** 0.5)
    assert values.min() > 0.6 and values.max() < 1.3  # as wide as these five rounds leave them
    rotated = left.T @ of_step @ right.T  # diagonal, where the singular vectors are kept
    assert (rotated - rotated.diag().diag()).abs().max() < 1e-9 * rotated.abs().max()
    assert step.square().mean().sqrt() == pytest.approx(SIZE, rel=0.3)


def test_muon_treats_gates_separately():
    weight = torch.randn(3, 4, 5, 2)
    torch.testing.assert_close(
        equalised(weight), torch.cat([equalised(gate[None]) for gate in weight])
    )


def test_muon_keeps_zeros():
    assert not equalised(torch.zeros(1, 4, 3, 2)).any()


def test_muon_reaches_the_minimum():
    torch.manual_seed(0)
    weight = nn.Parameter(torch.zeros(4, 3, 5))
    target = torch.randn(4, 3, 5)
    optimizer = QuaternionMuon([weight], weight_decay=0.0)
    for step in range(400):
        optimizer.param_groups[0]["lr"] = 0.05 * (1 - step / 400)
        weight.grad = weight.detach() - target
        optimizer.step()
    assert (weight - target).abs().max() < 0.02


def test_muon_batches_weights_without_mixing():
    def stepped(*chosen):
        torch.manual_seed(0)
        weights = [nn.Parameter(torch.randn(4, *shape)) for shape in [(3, 5), (2, 5), (3, 5)]]
        gates = [nn.Parameter(torch.randn(3, 4, 2, 2)) for _ in range(2)]
        for parameter in [*weights, *gates]:
            parameter.grad = torch.randn_like(parameter)
        QuaternionMuon(
            [weights[n] for n in chosen], [gates[n] for n in chosen if n < 2], lr=0.1
        ).step()
        return [*weights, *gates]

    together = stepped(0, 1, 2)
    for n in range(3):
        alone = stepped(n)
        torch.testing.assert_close(together[n], alone[n])
        if n < 2:
            torch.testing.assert_close(together[3 + n], alone[3 + n])


def test_muon_decays_weights():
    weight = nn.Parameter(torch.ones(4, 2, 2))
    weight.grad = torch.zeros_like(weight)
    QuaternionMuon([weight], lr=0.1, weight_decay=0.5).step()
    torch.testing.assert_close(weight.detach(), torch.full((4, 2, 2), 0.95))


def test_muon_momentum_is_nesterovs():
    """A step goes along the average of gradients as it will be if the last one comes again."""
    gradients = torch.randn(2, 4, 3, 5)
    weight = nn.Parameter(torch.zeros(4, 3, 5))
    optimizer = QuaternionMuon([weight], lr=1.0, momentum=0.9, weight_decay=0.0)
    for gradient in gradients:
        before = weight.detach().clone()
        weight.grad = gradient
        optimizer.step()
    momentum = 0.9 * (0.1 * gradients[0]) + 0.1 * gradients[1]
    direction = 0.9 * momentum + 0.1 * gradients[1]
    expected = equalised(direction[None])[0]
    torch.testing.assert_close(before - weight.detach(), expected)
    assert (equalised(momentum[None])[0] - expected).abs().max() > 0.05  # without the term

"""Muon's steps against singular values by LAPACK, and its runs against going on."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

import twins
from torch import nn

from qse.errors import QseError
from qse.networks import build_network, weights
from qse.nn.quaternion import hamilton_matrix
from qse.train import checkpoint
from qse.networks import weights
from qse.train.muon import SIZE, QuaternionMuon, alike
from qse.train.optimizers import optimizers

PLAN = replace(twins.PLAN, optimizer="muon")


@pytest.mark.parametrize("shape", [(3, 5), (6, 2), (4, 3, 2, 3)])
def test_a_step_turns_as_the_polar_factor_does_and_stays_one_of_quaternions(shape):
    torch.manual_seed(0)
    weight = torch.randn(4, *shape, dtype=torch.float64)
    step = alike(weight[None]).view_as(weight)
    real, of_step = hamilton_matrix(weight).flatten(1), hamilton_matrix(step).flatten(1)
    left, _, right = torch.linalg.svd(real, full_matrices=False)
    values = torch.linalg.svdvals(of_step) / (SIZE * max(real.shape) ** 0.5)
    assert values.min() > 0.6 and values.max() < 1.3  # as wide as these five rounds leave them
    rotated = left.T @ of_step @ right.T  # diagonal, where the singular vectors are kept
    assert (rotated - rotated.diag().diag()).abs().max() < 1e-9 * rotated.abs().max()
    assert step.square().mean().sqrt() == pytest.approx(SIZE, rel=0.3)


def test_gates_are_treated_one_by_one():
    weight = torch.randn(3, 4, 5, 2)
    torch.testing.assert_close(alike(weight), torch.cat([alike(gate[None]) for gate in weight]))


def test_zeros_stay_zero():
    assert not alike(torch.zeros(1, 4, 3, 2)).any()


def test_it_comes_to_the_minimum():
    torch.manual_seed(0)
    weight, target = nn.Parameter(torch.zeros(4, 3, 5)), torch.randn(4, 3, 5)
    optimizer = QuaternionMuon([weight], weight_decay=0.0)
    for step in range(400):
        optimizer.param_groups[0]["lr"] = 0.05 * (1 - step / 400)
        weight.grad = weight.detach() - target
        optimizer.step()
    assert (weight - target).abs().max() < 0.02


def test_weights_of_one_shape_do_not_mix():
    def stepped(*chosen):
        torch.manual_seed(0)
        weights = [nn.Parameter(torch.randn(4, *shape)) for shape in [(3, 5), (2, 5), (3, 5)]]
        gates = [nn.Parameter(torch.randn(3, 4, 2, 2)) for _ in range(2)]
        for parameter in [*weights, *gates]:
            parameter.grad = torch.randn_like(parameter)
        QuaternionMuon([weights[n] for n in chosen], [gates[n] for n in chosen if n < 2], lr=0.1).step()
        return [*weights, *gates]

    together = stepped(0, 1, 2)
    for n in range(3):
        alone = stepped(n)
        torch.testing.assert_close(together[n], alone[n])
        if n < 2:
            torch.testing.assert_close(together[3 + n], alone[3 + n])


def test_every_parameter_has_one_optimizer():
    network = build_network(twins.TINY)
    adam, muon = optimizers(network, "muon", (0.9, 0.99), 0.0)
    of = [[id(p) for group in optimizer.param_groups for p in group["params"]] for optimizer in (adam, muon)]
    assert sorted(of[0] + of[1]) == sorted(id(p) for p in network.parameters())
    names = {name for name, p in network.named_parameters() if id(p) in of[1]}
    assert {name.split(".")[-1] for name in names} == {"weight", "weight_input", "weight_hidden"}
    assert not any("norm" in name or "head" in name for name in names) and "encoder.down1.conv.weight" in names


@pytest.mark.parametrize("name", ["adamw", "muon"])
def test_gains_and_biases_do_not_decay(name):
    network = build_network(twins.TINY)
    before = {name: p.detach().clone() for name, p in network.named_parameters()}
    for p in network.parameters():
        p.grad = torch.zeros_like(p)
    for optimizer in optimizers(network, name, (0.9, 0.99), 0.5):
        for group in optimizer.param_groups:
            group["lr"] = 0.1
        optimizer.step()
    for path, p in network.named_parameters():
        kind = path.split(".")[-1]
        decays = kind.startswith("weight") and ".norm" not in path
        torch.testing.assert_close(p, 0.95 * before[path] if decays else before[path], msg=path)


def test_resuming_gives_the_numbers_of_going_on(tmp_path):
    whole = twins.live(PLAN)
    for _ in range(4):
        whole.step()
        if whole.done == 2:
            checkpoint.save(tmp_path / "checkpoint.safetensors", whole.tensors(), whole.header())
    rest = twins.live(PLAN)
    rest.restore(*weights.load(tmp_path / "checkpoint.safetensors"))
    rest.step()
    rest.step()
    twins.same(rest.tensors(), whole.tensors())


@pytest.mark.parametrize(("one", "other"), [("adamw", "muon"), ("muon", "adamw")])
def test_a_run_may_change_its_optimizer(one, other):
    before, after = (twins.live(replace(PLAN, optimizer=name)) for name in (one, other))
    before.step()
    after.restore(before.tensors(), before.header())
    kept, had = (
        {name: value for name, value in run.tensors().items() if name.startswith("optimizer.")}
        for run in (after, before)
    )
    twins.same(kept, {name: had[name] for name in kept})
    assert "optimizer.exp_avg.decoder.head.weight" in kept and not any("encoder.down1.conv" in name for name in kept)
    after.step()
    assert not after.skipped


def test_a_network_without_quaternion_weights_is_refused():
    with pytest.raises(QseError, match="no quaternion weights; choose adamw"):
        optimizers(build_network({**twins.TINY, "algebra": "real"}), "muon", (0.9, 0.99), 0.0)


def test_weights_decay():
    weight = nn.Parameter(torch.ones(4, 2, 2))
    weight.grad = torch.zeros_like(weight)
    QuaternionMuon([weight], lr=0.1, weight_decay=0.5).step()
    torch.testing.assert_close(weight.detach(), torch.full((4, 2, 2), 0.95))

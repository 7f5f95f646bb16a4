"""Which optimiser trains which weight; restoring their states."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

import small_training

from qse.errors import QseError
from qse.networks import build_network, weights
from qse.train import checkpoint
from qse.train.optimizers import assignment, optimizers, undeclared

PLAN = replace(small_training.PLAN, optimizer="muon")


def ids(optimizer):
    found = []
    for group in optimizer.param_groups:
        found += map(id, group["params"])
    return found


def of_optimizer(run):
    tensors = run.tensors()
    return {name: tensors[name] for name in tensors if name.startswith("optimizer.")}


def test_optimizers_assign_each_parameter_once():
    network = build_network(small_training.TINY)
    adam, muon = optimizers(network, "muon", (0.9, 0.99), 0.0)
    assert sorted(ids(adam) + ids(muon)) == sorted(map(id, network.parameters()))
    names = {name for name, p in network.named_parameters() if id(p) in ids(muon)}
    assert {name.split(".")[-1] for name in names} == {"weight", "weight_input", "weight_hidden"}
    assert (
        not any("norm" in name or "head" in name for name in names)
        and "encoder.down1.conv.weight" in names
    )


@pytest.mark.parametrize("name", ["adamw", "muon"])
def test_optimizers_do_not_decay_gains_and_biases(name):
    network = build_network(small_training.TINY)
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


def test_optimizers_decay_the_matrix_of_an_own_layer():
    layer = torch.nn.Linear(3, 2)
    (adam,) = optimizers(layer, "adamw", (0.9, 0.99), 0.5)
    found = {}
    for group in adam.param_groups:
        for parameter in group["params"]:
            found[parameter] = group["weight_decay"]
    assert found == {layer.weight: 0.5, layer.bias: 0.0}


def test_optimizers_restore_to_the_same_numbers(tmp_path):
    whole = small_training.live(PLAN)
    for _ in range(4):
        whole.step()
        if whole.done == 2:
            checkpoint.save(
                tmp_path / "checkpoint.safetensors", whole.tensors(), whole.header(), None
            )
    rest = small_training.live(PLAN)
    rest.restore(*weights.load_tensors(tmp_path / "checkpoint.safetensors"))
    rest.step()
    rest.step()
    small_training.same(rest.tensors(), whole.tensors())


@pytest.mark.parametrize(("one", "other"), [("adamw", "muon"), ("muon", "adamw")])
def test_trainer_restore_with_another_optimizer(one, other):
    before = small_training.live(replace(PLAN, optimizer=one))
    after = small_training.live(replace(PLAN, optimizer=other))
    before.step()
    after.restore(before.tensors(), before.header())
    kept = of_optimizer(after)
    had = of_optimizer(before)
    small_training.same(kept, {name: had[name] for name in kept})
    assert "optimizer.exp_avg.decoder.head.weight" in kept and not any(
        "encoder.down1.conv" in name for name in kept
    )
    after.step()
    assert not after.skipped


def test_optimizers_refuse_muon_for_real_networks():
    with pytest.raises(QseError, match="no quaternion weights; choose adamw"):
        optimizers(
            build_network({**small_training.TINY, "algebra": "real"}), "muon", (0.9, 0.99), 0.0
        )


class Hidden(torch.nn.Module):
    """A layer with quaternion weights that it does not declare."""

    def __init__(self):
        super().__init__()
        self.value = torch.nn.Parameter(torch.randn(4, 3, 2))
        self.gates = torch.nn.Parameter(torch.randn(3, 4, 2, 2))
        self.decay = torch.nn.Parameter(torch.randn(4, 3))


def test_undeclared_quaternion_weights_are_named():
    network = build_network(small_training.TINY)
    made = optimizers(network, "muon", (0.9, 0.99), 0.0)
    assert undeclared(network, made) == []
    network.encoder.hidden = Hidden()
    made = optimizers(network, "muon", (0.9, 0.99), 0.0)
    value, gates = undeclared(network, made)
    assert value.startswith("layer encoder.hidden (Hidden): AdamW trains its weight 'value', 4 x 3")
    assert "'gates', 3 x 4 x 2 x 2" in gates and "quaternion_gates" in gates
    assert undeclared(network, optimizers(network, "adamw", (0.9, 0.99), 0.0)) == []


def test_assignment_counts_every_weight():
    network = build_network(small_training.TINY)
    made = optimizers(network, "muon", (0.9, 0.99), 0.0)
    muon = sum(p.numel() for group in made[1].param_groups for p in group["params"])
    line = assignment(made)
    assert (
        line.startswith("AdamW trains ") and f"of {network.parameter_count - muon:,} numb" in line
    )
    assert line.endswith(f"Muon trains {len(ids(made[1]))} tensors of {muon:,} numbers")

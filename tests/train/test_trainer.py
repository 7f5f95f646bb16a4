"""The trainer against a plain loop, resuming against an uninterrupted run, and steps that are
skipped."""

import os
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import small_training
from small_training import CPU, PLAN, batches, copies, same, squared_error
from torch import nn

from qse.data.sampling import step_seed
from qse.data.source import Batch
from qse.networks import weights
from qse.train import checkpoint
from qse.train.train_config import TrainConfig
from qse.train.trainer import Trainer


def network(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Dropout(0.2), nn.Linear(8, 6)
    )


def trainer(plan: TrainConfig = PLAN, seed: int = 0, source=batches, loss=squared_error) -> Trainer:
    return Trainer(network(seed), loss, source, plan, CPU)


def test_trainer_step_equals_a_plain_loop():
    def source(step, share=0):
        noisy, clean, rate, _ = batches(step)
        return Batch(noisy.double(), clean.double(), rate)

    run = Trainer(
        network().double(), squared_error, source, replace(PLAN, clip_norm=0.05, ema_decay=0.3), CPU
    )
    plain = network().double().train()
    weights = [p for p in plain.parameters() if p.ndim > 1]
    others = [p for p in plain.parameters() if p.ndim <= 1]
    groups = [{"params": weights}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, betas=PLAN.betas, weight_decay=PLAN.weight_decay)
    averaged = None
    for step in range(5):
        run.step()
        torch.manual_seed(step_seed(PLAN.seed, 0, step, "training"))
        optimizer.zero_grad()
        squared_error(plain, source(step), {})[0].backward()
        norm = torch.cat([p.grad.flatten() for p in plain.parameters()]).norm()
        assert norm > 0.05  # there is something to clip
        for p in plain.parameters():
            p.grad *= 0.05 / (norm + 1e-6)
        for group in optimizer.param_groups:
            group["lr"] = PLAN.rate(step)
        optimizer.step()
        now = [p.detach().clone() for p in plain.state_dict().values() if p.is_floating_point()]
        # 0.18, 0.25, then as configured
        decay = min(0.3, (1 + step) / (10 + step)) if step else 0.0
        averaged = [decay * a + (1 - decay) * p for a, p in zip(averaged or now, now, strict=True)]
    for model, expected in ((run.network, now), (run.ema.network, averaged)):
        found = [p for p in model.state_dict().values() if p.is_floating_point()]
        for a, b in zip(found, expected, strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=1e-8)


def test_processes_that_pytorch_starts_import_nothing_from_the_working_folder(monkeypatch):
    """Cover the steps in which PyTorch compiles: the first ones."""
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    found = []

    def loss(*arguments):
        found.append(os.environ.get("PYTHONSAFEPATH"))
        return squared_error(*arguments)

    trainer(loss=loss).step()
    assert found == ["1"] and "PYTHONSAFEPATH" not in os.environ


def test_trainer_lowers_the_loss():
    run = trainer(TrainConfig(steps=60, warmup_steps=1, learning_rate=0.02))
    losses = [run.step()[0]["loss"] for _ in range(60)]
    assert np.mean(losses[-10:]) < 0.6 * np.mean(losses[:10])


def test_trainer_restore_continues_to_the_same_numbers(tmp_path):
    on = trainer()
    first = trainer()
    terms = [on.step()[0] for _ in range(6)]
    for _ in range(3):
        first.step()
    checkpoint.save(tmp_path / "c.safetensors", first.tensors(), first.header(), None)
    second = trainer(seed=1)  # another network: everything must come from the file
    second.restore(*weights.load_tensors(tmp_path / "c.safetensors"))
    assert [second.step()[0] for _ in range(3)] == terms[3:]
    same(second.tensors(), on.tensors())
    assert {**second.header(), "seconds": ""} == {**on.header(), "seconds": ""}
    assert len(on.tensors()) == 2 * len(on.network.state_dict()) + 3 * len(
        list(on.network.parameters())
    )


def test_trainer_skips_gradients_that_are_not_finite():
    def source(step, share):
        return small_training.spoilt(batches(step)) if step == 2 else batches(step)

    run = trainer(source=source)
    run.step(), run.step()
    before = copies(run.tensors())
    run.step()
    after = run.tensors()
    assert run.done == 3 and run.skipped == 1
    same(before, copies(after))
    run.step()
    assert run.skipped == 1 and all(torch.isfinite(value).all() for value in run.tensors().values())
    assert not torch.equal(run.tensors()["model.0.weight"], before["model.0.weight"])


def test_trainer_restores_a_run_without_updates(tmp_path):
    run = trainer(
        source=lambda step, share: Batch(torch.full((4, 6), float("inf")), torch.zeros(4, 6), 16000)
    )
    run.step()
    checkpoint.save(tmp_path / "c.safetensors", run.tensors(), run.header(), None)
    second = trainer(seed=1)
    second.restore(*weights.load_tensors(tmp_path / "c.safetensors"))
    assert second.done == second.skipped == 1
    same(second.tensors(), run.tensors())


def test_trainer_step_returns_the_stop_request():
    run = trainer()
    assert [run.step(stop)[1] for stop in (False, True, False)] == [False, True, False]


def test_trainer_bfloat16_keeps_weights_in_float32():
    run = small_training.live(replace(PLAN, precision="bfloat16"))
    before = copies(run.network.state_dict())
    terms = run.step().values
    assert np.isfinite(terms["loss"]) and run.skipped == 0
    after = run.network.state_dict()
    assert all(
        p.dtype == torch.float32 and torch.isfinite(p).all() for p in run.network.parameters()
    )
    assert not torch.equal(after["decoder.head.weight"], before["decoder.head.weight"])


def test_trainer_compiles_in_place(monkeypatch):
    """Stand in for torch.compile, which returns a function that calls the network."""
    monkeypatch.setattr(torch, "compile", lambda inner, *_, **__: lambda *a, **k: inner(*a, **k))
    run = small_training.live(replace(PLAN, compile=True))
    plain = small_training.live(PLAN)
    assert run.step()[0] == plain.step()[0]
    same(run.tensors(), plain.tensors())


def test_trainer_accumulates_shares_as_one_batch():
    """Four shares of two items have the gradient of eight items, and the mean of their loss."""
    whole = small_training.linear(rank=0, size=8)
    parts = small_training.linear(rank=0, size=2, accumulate=4)
    for run in (whole, parts):
        terms = [run.step()[0]["loss"] for _ in range(3)]
        run.found = [*terms, *run.network.parameters()]
    torch.testing.assert_close(parts.found, whole.found, rtol=1e-5, atol=1e-7)
    assert parts.heard == whole.heard


def test_trainer_averages_the_statistics_of_shares():
    """Running means of shares begin from the same values, as those of several processes do."""
    run = trainer(replace(PLAN, accumulate=2), source=lambda step, share: batches(2 * step + share))
    norm = run.network[1]
    run.step()
    means = []
    for share in (0, 1):
        linear = network()[0]
        means.append(0.1 * linear(batches(share).noisy).mean(0))  # the momentum of batch norms
    torch.testing.assert_close(norm.running_mean, (means[0] + means[1]) / 2)


def test_trainer_float16_scales_the_loss():
    """A gradient below the smallest number of float16 has the value that it has in float32."""

    def loss(network, batch, carried):
        return (network(batch.noisy).half().float() * 1e-8).sum(), {}, {}

    plan = replace(PLAN, precision="float16")
    run = Trainer(nn.Linear(6, 6), loss, batches, plan, CPU)
    run.step()
    torch.testing.assert_close(run.network.bias.grad, torch.full((6,), 4e-8), rtol=0.01, atol=0)
    assert run.skipped == 0 and run.scale.value == 2**16 and run.scale.steps == 1
    head = run.header()
    run.batches = lambda step, share: small_training.spoilt(batches(step))
    run.step()
    assert run.skipped == 1 and run.scale.value == 2**15 and run.scale.steps == 0
    run.restore(run.tensors(), head)
    assert run.scale.value == 2**16 and run.scale.steps == 1

"""A signal abandons the step that is computed: the checkpoint is that of the step before."""

import json
import os
import signal
from contextlib import contextmanager
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from small_training import CONFIG, PLAN, Reports, carrying, copies, job, same

from qse.losses.weighted_sum import as_loss
from qse.networks import weights
from qse.train import stopping
from qse.train.run import train
from qse.train.stopping import StepAbandoned, StopRequest

FOUR = replace(CONFIG, train=replace(PLAN, steps=4, checkpoint_every=2))


class Stopping:
    """The loss of CONFIG; in one step a signal comes during the forward or the backward pass."""

    def __init__(self, number, where="backward", step=0):
        self.loss = as_loss(CONFIG.loss)
        self.number = number
        self.where = where
        self.step = step
        self.calls = 0

    def signal(self, gradient=None):
        os.kill(os.getpid(), self.number)

    def __call__(self, *, clean, enhanced):
        self.calls += 1
        if self.calls == self.step and self.where == "forward":
            self.signal()
        if self.calls == self.step and self.where == "backward":
            enhanced.register_hook(self.signal)
        return (enhanced - clean).square().mean() + (enhanced - clean).abs().mean()


def run(audio, out, loss, **changes):
    reports = Reports()
    train(FOUR, job(audio, out, valid=None, **changes), reports, loss=loss)
    assert reports.closed
    return [row["step"] for row in reports.rows]


@pytest.fixture(scope="module")
def uninterrupted(training_audio, tmp_path_factory):
    out = tmp_path_factory.mktemp("uninterrupted") / "run"
    assert run(training_audio, out, Stopping(0)) == [1, 2, 3, 4]
    return weights.load_tensors(out / "checkpoint.safetensors")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("where", ["forward", "backward"])
@pytest.mark.parametrize("step", [1, 3])
def test_signal_abandons_the_step(uninterrupted, training_audio, tmp_path, number, where, step):
    out = tmp_path / "run"
    loss = Stopping(number, where, step)
    assert run(training_audio, out, loss) == list(range(1, step))
    assert loss.calls == step
    assert weights.load_tensors(out / "checkpoint.safetensors")[1]["step"] == str(step - 1)

    assert run(training_audio, out, Stopping(0), resume=True) == list(range(step, 5))
    tensors, header = weights.load_tensors(out / "checkpoint.safetensors")
    same(tensors, uninterrupted[0])
    assert {**header, "seconds": "", "options": ""} == {
        **uninterrupted[1],
        "seconds": "",
        "options": "",
    }


def test_abandoned_step_leaves_the_trainer_as_it_was():
    @contextmanager
    def at_the_end():
        yield
        raise StepAbandoned

    trainer = carrying(done=3)
    other = carrying(done=3)
    before = {name: tensor.clone() for name, tensor in trainer.tensors().items()}
    heard = trainer.heard
    step = trainer.step(abandonable=at_the_end)
    assert step.abandoned and step.stop and not step.values
    same(trainer.tensors(), before)
    assert (trainer.heard, trainer.done) == (heard, 3)
    assert trainer.step().values == other.step().values
    same(copies(trainer.tensors()), copies(other.tensors()))


def test_step_is_abandoned_by_all_processes_or_none(two_processes):
    folder, *_ = two_processes
    for rank in (0, 1):
        header = weights.load_tensors(folder / f"{rank}.safetensors")[1]
        assert json.loads(header["findings"])["abandoned"] == [True, True, False]


def test_python_handles_signals_in_a_backward_pass(monkeypatch):
    """It runs a function of Python when the gradient of each weight is complete."""
    seen = []
    monkeypatch.setattr(stopping, "_handle_signals", lambda weight: seen.append(id(weight)))
    network = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 1))
    network[0].bias.requires_grad_(False)
    with stopping.interruptible(network.parameters()):
        network(torch.ones(2, 3)).sum().backward()
    trained = [weight for weight in network.parameters() if weight.requires_grad]
    assert sorted(seen) == sorted(map(id, trained))
    network(torch.ones(2, 3)).sum().backward()
    assert len(seen) == len(trained)


def test_stop_request_raises_within_its_context_alone():
    request = StopRequest()
    before = signal.getsignal(signal.SIGTERM)
    with request.signals():
        with pytest.raises(StepAbandoned), request.abandonable():
            os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)  # outside of a step: nothing is raised
        assert request.signalled and request.due()
        with pytest.raises(StepAbandoned), request.abandonable():
            pytest.fail("a step begins although a signal has come")
    assert signal.getsignal(signal.SIGTERM) == before

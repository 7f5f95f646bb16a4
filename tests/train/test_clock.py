"""Runs whose rate follows the clock, and runs that end for want of memory."""

import time
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

import small_training
from small_training import CONFIG, PLAN, Reports, copies, job, lines, same

from qse.errors import QseError, UsageError
from qse.networks import weights
from qse.train.run import train
from qse.train.stopping import StopRequest
from qse.train.train_config import TrainConfig

CLOCK = TrainConfig(by_clock=True, plateau_share=0.5, learning_rate=1.0, warmup_steps=0)
PLANNED = replace(
    PLAN, by_clock=True, plateau_share=0.5, checkpoint_every=1000, checkpoint_minutes=1.0
)


@pytest.fixture
def ticking(monkeypatch):
    """Make every look at the clock take six seconds."""
    begun = time.monotonic()
    looks = iter(range(1000000))
    monkeypatch.setattr("qse.train.stopping.time.monotonic", lambda: begun + 6 * next(looks))


def test_rate_follows_the_clock_to_zero():
    assert CLOCK.rate(7, 0.0) == CLOCK.rate(10**6, 0.5) == 1
    assert CLOCK.rate(7, 0.75) == pytest.approx(0.5)
    assert CLOCK.rate(7, 1.0) == CLOCK.rate(7, 1.3) == 0
    rising = replace(CLOCK, warmup_steps=10)
    assert rising.rate(4, 0.0) == 0.5
    assert replace(CLOCK, plateau_share=1.0).rate(7, 0.99) == 1


def test_passed_continues_where_the_run_was():
    stop = StopRequest(hours=1)
    stop.start -= 1800
    assert stop.passed() == pytest.approx(0.5, abs=1e-3)
    stop.begun = 0.6  # the hour is what is left
    assert stop.passed() == pytest.approx(0.8, abs=1e-3)
    assert StopRequest(None).passed() == 0


def test_train_by_the_clock_ends_at_rate_zero_with_its_last_step(training_audio, tmp_path, ticking):
    """Three minutes of a clock that does not depend on this machine."""
    reports = Reports()
    config = replace(CONFIG, train=PLANNED)
    out = tmp_path / "run"
    train(config, job(training_audio, out, hours=0.05, valid=None), reports)
    passed = [row["passed"] for row in reports.rows]
    assert len(passed) > 4 and passed == sorted(passed) and passed[-1] == 1
    assert all(share < 1 for share in passed[:-1])
    rows = lines(out / "train.csv")
    assert float(rows[-1]["rate"]) == 0 and int(rows[-1]["step"]) == len(passed)
    header = weights.load_header(out / "checkpoint.safetensors")
    assert int(header["step"]) == len(passed) and float(header["passed"]) == 1
    again = job(training_audio, out, hours=0.05, valid=None, resume=True)
    train(config, again, reports)  # its time is over
    assert weights.load_header(out / "checkpoint.safetensors") == header


def test_train_by_the_clock_resumes_within_the_time_that_is_left(training_audio, tmp_path, ticking):
    class Interrupts(Reports):
        def __call__(self, row, plan):
            super().__call__(row, plan)
            if row["passed"] > 0.3:
                raise KeyboardInterrupt

    config = replace(CONFIG, train=replace(PLANNED, checkpoint_every=1))
    out = tmp_path / "run"
    first = Interrupts()
    with pytest.raises(KeyboardInterrupt):
        train(config, job(training_audio, out, hours=0.05, valid=None), first)
    saved = float(weights.load_header(out / "checkpoint.safetensors")["passed"])
    assert 0 < saved < 1
    second = Reports()
    train(config, job(training_audio, out, hours=0.05, valid=None, resume=True), second)
    assert saved < second.rows[0]["passed"] < saved + 0.3
    assert second.rows[-1]["passed"] == 1


def test_train_by_the_clock_saves_every_minute(training_audio, tmp_path, ticking, monkeypatch):
    saved = []

    def save(path, tensors, header, source):
        saved.append(float(header["passed"]))

    monkeypatch.setattr("qse.train.checkpoint.save", save)
    config = replace(CONFIG, train=PLANNED)
    train(config, job(training_audio, tmp_path, hours=0.1, valid=None))
    gaps = [later - earlier for earlier, later in zip([0.0, *saved], saved, strict=False)]
    assert len(saved) > 3 and max(gaps) * 6 < 2.5  # minutes; a step looks at the clock often


def test_train_by_the_clock_needs_a_time_limit(training_audio, tmp_path):
    config = replace(CONFIG, train=PLANNED)
    with pytest.raises(UsageError, match=r"train\.by_clock: the rate follows the time limit; say"):
        train(config, job(training_audio, tmp_path, valid=None))


def test_train_out_of_memory_saves_the_steps_before(training_audio, tmp_path, monkeypatch):
    """A step that fails in its backward pass leaves nothing behind."""
    out = tmp_path / "run"
    config = replace(CONFIG, train=replace(PLAN, carry_state_probability=0.5))
    whole = tmp_path / "whole"
    train(config, job(training_audio, whole, valid=None))

    original = torch.Tensor.backward
    calls = []

    def backward(self, *args, **kwargs):
        calls.append(self)
        if len(calls) == 5:
            original(self, *args, **kwargs)
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0")
        return original(self, *args, **kwargs)

    monkeypatch.setattr(torch.Tensor, "backward", backward)
    sentence = (
        r"step 5 does not fit into memory \(CUDA out of memory\); nothing of the steps before"
    )
    with pytest.raises(QseError, match=sentence):
        train(config, job(training_audio, out, valid=None))
    monkeypatch.undo()
    assert weights.load_header(out / "checkpoint.safetensors")["step"] == "4"
    train(config, job(training_audio, out, valid=None, resume=True))
    same(*(copies(weights.load_tensors(run / "checkpoint.safetensors")[0]) for run in (out, whole)))


def test_trainer_raises_other_errors_of_a_step_as_they_are():
    def fails(*_):
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    run = small_training.live(PLAN)
    run.gradient = fails
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        run.step()

"""Batches that processes mix beside a training."""

import os
import signal
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from small_training import CONFIG, PLAN, batches, copies, job, same

from qse.errors import QseError, UsageError
from qse.networks import weights
from qse.train import mix_processes
from qse.train.run import train

AHEAD = replace(PLAN, mix_ahead=2, mix_processes=2)


def test_train_with_mixing_processes_writes_the_same_checkpoint(
    finished_run, training_audio, tmp_path
):
    out = tmp_path / "run"
    train(replace(CONFIG, train=AHEAD), job(training_audio, out, valid=None))
    expected = weights.load_tensors(finished_run[0] / "checkpoint.safetensors")[0]
    same(copies(weights.load_tensors(out / "checkpoint.safetensors")[0]), copies(expected))


def test_train_saves_the_steps_before_a_mixing_process_is_ended(
    training_audio, tmp_path, monkeypatch
):
    """As a system does that has no memory left."""
    pools = []
    original = mix_processes.mixing_processes

    def kept(*arguments):
        pools.append(original(*arguments))
        return pools[-1]

    def ends_one(row, plan):
        if row["step"] == 3:
            for process in list(pools[0]._processes.values()):
                os.kill(process.pid, signal.SIGKILL)

    ends_one.close = lambda: None
    monkeypatch.setattr(mix_processes, "mixing_processes", kept)
    config = replace(CONFIG, train=replace(AHEAD, steps=100))
    with pytest.raises(QseError, match=r"step \d+ does not fit into memory \(a process"):
        train(config, job(training_audio, tmp_path / "run", valid=None), ends_one)
    header = weights.load_header(tmp_path / "run/checkpoint.safetensors")
    assert int(header["step"]) >= 3


def test_train_refuses_mixing_processes_for_a_source_of_ones_own(tmp_path):
    class Source:
        segments = 4

        def batch(self, step, size, rank=0):
            return batches(step)

    with pytest.raises(UsageError, match=r"train\.mix_processes: a source of one's own"):
        train(replace(CONFIG, train=AHEAD), job(tmp_path, tmp_path / "run"), source=Source())

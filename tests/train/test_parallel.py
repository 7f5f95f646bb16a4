"""Several processes against one, their signals and their errors."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import processes
import small_training
import torchrun_worker
from small_training import lines, same

from qse.errors import QseError
from qse.networks import weights
from qse.train import exchange, parallel


def test_is_first_by_the_rank_of_torchrun(monkeypatch):
    monkeypatch.setenv("RANK", "1")  # alone, it is of another program
    assert parallel.is_first()
    for name in parallel.TORCHRUN:
        monkeypatch.setenv(name, "1")
    assert not parallel.is_first()
    monkeypatch.setenv("RANK", "0")
    assert parallel.is_first()


def test_launch_reports_a_killed_process(monkeypatch):
    """Others cannot exchange the file in which PyTorch looks for a pickled report."""
    spawn = torch.multiprocessing.spawn
    reports = []

    def watched(*arguments, **options):
        context = spawn(*arguments, **options)
        for path in map(Path, context.error_files):
            reports.append(path)
            assert os.name == "nt" or stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        return context

    monkeypatch.setattr("torch.multiprocessing.spawn", watched)
    with pytest.raises(
        QseError,
        match=r"signal SIGKILL; if there is a checkpoint, resume=True continues from there$",
    ):
        parallel.launch(processes.killed, 2)
    assert len(reports) == 2


@pytest.mark.slow
def test_launch_reports_a_killed_process_that_another_noticed_first():
    with pytest.raises(QseError, match=r"^process 0 terminated with signal SIGKILL; if there is"):
        parallel.launch(processes.killed_and_noticed_by_another, 2)


def test_launch_reports_the_cause_and_not_the_loss():
    with pytest.raises(QseError, match=rf"^{processes.NOT_UTF_8}: no such file$"):
        parallel.launch(processes.raised_and_noticed_by_another, 2)


def test_launch_reports_a_fault_and_not_the_loss():
    with pytest.raises(RuntimeError, match=r"ValueError: a fault of the code$"):
        parallel.launch(processes.failed_and_noticed_by_another, 2)


def test_launch_ends_as_interrupted():
    with pytest.raises(SystemExit) as end:
        parallel.launch(processes.interrupted, 2)
    assert end.value.code == 130


def test_launch_raises_the_error_of_a_process(two_processes):
    _, error, (before, after) = two_processes
    assert error == "this is how it ends" and after == before


def test_launch_trains_two_processes_as_one(two_processes):
    folder, *_ = two_processes
    (zero, heard) = weights.load_tensors(folder / f"{0}.safetensors")
    (one, said) = weights.load_tensors(folder / f"{1}.safetensors")
    same(zero, one)  # parameters, statistics, average and optimiser stay in step
    joined = small_training.linear(rank=0, size=8)
    joined.step()
    for name, p in joined.network.named_parameters():
        torch.testing.assert_close(zero[f"gradient.{name}"], p.grad, rtol=1e-5, atol=1e-7)
    heard = json.loads(heard["findings"])
    said = json.loads(said["findings"])
    assert heard["terms"] != said["terms"]  # batches of their own
    assert heard["stops"] == said["stops"] == [True, False]
    assert heard["skipped"] == said["skipped"] == 1
    assert heard["samples"] == said["samples"] == joined.heard == 8 * 6
    assert heard["gathered"] == said["gathered"] == [0, 10, 1, 11]
    assert heard["devices"] == ["cpu", "cuda:0"] and said["devices"] == ["cpu", "cuda:1"]


def test_launch_passes_signals_on():
    class Process:
        ended = 0

        def terminate(self):
            self.ended += 1

    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with parallel._signals_passed_on() as (children, received):
        children.append(Process())
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)  # which the terminal has sent them itself
        assert children[0].ended == 1 and received == [signal.SIGTERM, signal.SIGINT]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_launch_passes_on_a_signal_that_came_while_the_processes_were_started(monkeypatch):
    class Spawned:
        ended = 0

        def terminate(self):
            self.ended += 1

        def join(self, grace_period):
            return True

    child = Spawned()
    child.processes = [child]

    def spawn(*_, **__):
        os.kill(os.getpid(), signal.SIGTERM)
        return child

    monkeypatch.setattr("torch.multiprocessing.spawn", spawn)
    parallel.launch(processes.killed, 2)
    assert child.ended == 1


def test_average_of_one_process():
    x = torch.tensor([1.0, 2.0])
    exchange.average_([x])
    assert x.tolist() == [1, 2] and exchange.gather([3]) == [3]


def test_processes_gather_items_of_unequal_size():
    parallel.launch(processes.sends_items, 2)


def test_processes_run_nothing_that_another_program_sends(tmp_path):
    with pytest.raises(RuntimeError, match="weights_only"):
        parallel.launch(processes.sends_an_instruction, 2, str(tmp_path / "made"))
    assert not (tmp_path / "made").exists()


SAYS_WHY = """
import os, signal
from qse.stop_signals import handled_by
from qse.train import exchange

try:
    with handled_by(lambda *_: None), exchange._exchange():
        raise RuntimeError("connection closed")
except exchange.LostProcess as error:
    os.kill(os.getpid(), signal.SIGTERM)
    print(error)
"""


def test_process_that_lost_another_says_so_though_torchrun_ends_it():
    done = subprocess.run([sys.executable, "-c", SAYS_WHY], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "another process of this run has ended" in done.stdout


def torchrun(options: list[str], *arguments) -> subprocess.Popen:
    """Start torchrun with torchrun_worker.py."""
    words = [sys.executable, "-m", "torch.distributed.run", *options, torchrun_worker.__file__]
    environment = {
        **os.environ,
        "GLOO_SOCKET_IFNAME": "lo",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    return subprocess.Popen(
        [*words, *map(str, arguments)], env=environment, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.slow
def test_torchrun_trains_on_two_nodes_as_one_process_does(tmp_path):
    """A run of two processes that is killed, and resumed on two nodes with two each, has the
    weights of one process that takes the same batches."""
    out = tmp_path / "nodes"
    killed = torchrun(["--standalone", "--nproc-per-node", "2"], out, 2, 3)
    _, error = killed.communicate()
    assert killed.returncode == 1
    assert "qse: another process of this run has ended, or cannot be reached (" in error
    assert weights.load_tensors(out / "checkpoint.safetensors")[1]["step"] == "3"

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    place = ["--nnodes", "2", "--nproc-per-node", "2", "--master-addr", "127.0.0.1"]
    nodes = []
    for node in range(2):
        which = ["--master-port", str(port), "--node-rank", str(node)]
        nodes.append(torchrun([*place, *which], out, 1, -1))
    errors = [node.communicate()[1] for node in nodes]
    assert [node.returncode for node in nodes] == [0, 0], errors

    torchrun_worker.run(tmp_path / "one", 4)
    found, header = weights.load_tensors(out / "checkpoint.safetensors")
    expected, alone = weights.load_tensors(tmp_path / "one" / "checkpoint.safetensors")
    assert header["step"] == alone["step"] == "5" and header["heard"] == alone["heard"]
    assert found.keys() == expected.keys()
    for name in expected:
        if "num_batches" not in name:
            torch.testing.assert_close(found[name], expected[name], rtol=1e-6, atol=1e-9)
    rows = zip(lines(out / "train.csv"), lines(tmp_path / "one" / "train.csv"), strict=True)
    for row, alone in rows:  # of all processes, and of those before they were killed
        assert row["step"] == alone["step"]
        assert float(row["loss"]) == pytest.approx(float(alone["loss"]), rel=1e-4)

"""Copy task: sequences, sizes of the networks, learning."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib")

from qse_papers import experiment
from qse_papers.copy_task import BITS, CopyTask
from result_tables import numbers, rows_of


def test_copy_task_sequence_layout():
    x, bits = CopyTask(length=4, blanks=3).sequence(6, torch.Generator().manual_seed(0))
    assert x.shape == (6, 11, 12) and bits.shape == (6, 4, BITS)
    assert torch.equal(x[:, :4, :BITS], bits) and not x[:, 4:, :BITS].any()
    # one delimiter, at the end of the blanks
    assert x[..., BITS].nonzero()[:, 1].tolist() == [6] * 6


def test_copy_task_networks_match_in_weights():
    from qse_papers.copy_task import Copier

    quaternion = Copier(256, "quaternion").rnn
    real = Copier(128, "real").rnn
    assert quaternion.weight_hidden.numel() == real.weight_hidden.weight.numel() == 512 * 512


def test_copy_task_is_learned_by_both_networks(tmp_path):
    changes = ["hidden=64", "length=3", "blanks=2", "learning_rate=0.01", "steps=150", "target=0.3"]
    experiment("copy-task", tmp_path, changes)
    table = rows_of(tmp_path / "copy-task.csv")
    assert [row["network"] for row in table] == ["RNN", "QRNN"]
    assert all(float(row["% of new bits"]) > 80 for row in table)
    written = {path.name for path in tmp_path.iterdir()}
    assert {"copy-task.md", "copy-task.png", "copy-task-sequence.png"} <= written
    rows = rows_of(tmp_path / "copy-task-curves.csv")
    for network in ("QRNN", "RNN"):
        losses = numbers(rows, "loss", network=network)
        assert losses[0] > 0.6 and losses[-1] < 0.3

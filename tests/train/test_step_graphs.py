"""Steps that are recorded once and run again, against steps without a record.

A tape stands for the CUDA graph: it runs the same operators on the same tensors again.
"""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

import small_training
from recorded import RecordedGraphs
from small_training import CPU, LOSS, PLAN, TINY, copies

from qse.data.source import Batch
from qse.losses.weighted_sum import WeightedSum
from qse.networks import build_network
from qse.train.stateful_training import TrainingLoss
from qse.train.step_graphs import GraphedGradient, gradient_of
from qse.train.trainer import Trainer

BOTH = {
    **TINY,
    "sample_rate": 48000,
    "n_fft": 192,
    "hop_length": 96,
    "ranges": ((32, 2), (64, 4)),
    "look_ahead": 2,
    "look_ahead_blocks": (0,),
}
STEPS = 14


def batches(step: int, share: int = 0) -> Batch:
    """Two items of noise, at one of two rates."""
    rate = (16000, 48000)[step % 3 == 0]
    numbers = torch.Generator().manual_seed(step)
    noisy = 0.1 * torch.randn(2, rate // 8, generator=numbers)
    return Batch(noisy, 0.5 * noisy, rate)


def trainer(loss=LOSS, graphs: RecordedGraphs | None = None) -> Trainer:
    """A trainer of both rates, two look-aheads, and streams that continue."""
    torch.manual_seed(0)
    plan = replace(PLAN, look_ahead=(0, 2), carry_state_probability=0.5, steps=STEPS)
    objective = TrainingLoss(loss, plan.carry_state_probability, plan.look_ahead)
    run = Trainer(build_network(BOTH), objective, batches, plan, CPU)
    if graphs:
        run.gradient = GraphedGradient(run.gradient, objective, graphs)
    return run


def test_recorded_steps_equal_steps_without_a_record():
    plain = trainer()
    graphs = RecordedGraphs()
    recorded = trainer(graphs=graphs)
    for _ in range(STEPS):
        expected = plain.step().values
        found = recorded.step().values
        assert found == pytest.approx(expected, rel=1e-4), recorded.done
    # each rate and look-ahead once, and most steps by what was recorded
    assert 2 <= len(graphs.tapes) <= 4
    expected = plain.tensors()
    found = recorded.tensors()
    assert expected.keys() == found.keys()
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=1e-3, atol=1e-5, msg=name)


def test_recorded_steps_continue_from_a_checkpoint():
    first = trainer(graphs=RecordedGraphs())
    for _ in range(9):
        first.step()
    resumed = trainer(graphs=RecordedGraphs())
    resumed.restore(copies(first.tensors()), first.header())
    for _ in range(STEPS - 9):
        assert resumed.step().values == pytest.approx(first.step().values, rel=1e-4)


def test_a_loss_that_reads_numbers_goes_on_without_records():
    def reads(*, clean, enhanced):
        distance = (clean - enhanced).square().mean()
        return distance * (2.0 if distance.item() > 0 else 1.0)

    loss = WeightedSum(own={"reads": (1.0, reads)})
    plain = trainer(loss)
    recorded = trainer(loss, RecordedGraphs())
    with pytest.warns(UserWarning, match="goes on without CUDA graphs: _local_scalar_dense"):
        for _ in range(STEPS):
            assert recorded.step().values == pytest.approx(plain.step().values, rel=1e-4)


@pytest.mark.parametrize(
    "change",
    [{"graphs": False}, {"precision": "float16"}, {"accumulate": 2}, {"compile": True}, {}],
)
def test_steps_are_recorded_on_a_gpu_alone(change):
    """The last case is a CPU; what changes from step to step but is no tensor is never recorded."""
    eager = small_training.live(PLAN).gradient
    if change:
        eager.device = torch.device("cuda")
    assert gradient_of(eager, replace(PLAN, **change)) is eager

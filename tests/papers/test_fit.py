"""The training loop of the experiments: steps, schedule, clipping, an early end."""

import pytest

torch = pytest.importorskip("torch")

from qse_papers.fit import fit, warmup_cosine


def weight_and_loss():
    weight = torch.nn.Parameter(torch.tensor([3.0, 4.0]))
    return weight, lambda: weight.square().sum() / 2  # the gradient is the weight


def test_fit_takes_the_steps_of_the_optimiser():
    weight, loss = weight_and_loss()
    optimizer = torch.optim.SGD([weight], 0.5)
    assert list(fit(loss, optimizer, 3)) == [(1, 12.5), (2, 3.125), (3, 0.78125)]
    assert weight.tolist() == [0.375, 0.5]


def test_fit_follows_the_schedule_and_clips_gradients():
    weight, loss = weight_and_loss()
    optimizer = torch.optim.SGD([weight], 1.0)
    schedule = warmup_cosine(optimizer, 2, 4)  # rates 1/2, 1, 1, 1/2
    list(fit(loss, optimizer, 2, schedule=schedule, max_grad_norm=1.0))
    assert torch.linalg.vector_norm(weight).item() == pytest.approx(5 - 0.5 - 1, abs=1e-5)
    assert schedule.get_last_lr() == [1.0]


def test_fit_may_be_stopped_early():
    weight, loss = weight_and_loss()
    training = fit(loss, torch.optim.SGD([weight], 0.5), 100)
    assert next(training) == (1, 12.5)
    assert next(training) == (2, 3.125)
    training.close()
    assert weight.tolist() == [0.75, 1.0]


def test_warmup_cosine_reaches_zero():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], 1.0)
    schedule = warmup_cosine(optimizer, 4, 12)
    rates = []
    for _ in range(13):
        rates += schedule.get_last_lr()
        optimizer.step()
        schedule.step()
    assert rates[:5] == [0.25, 0.5, 0.75, 1.0, 1.0]
    assert rates[8] == pytest.approx(0.5) and rates[12] == 0

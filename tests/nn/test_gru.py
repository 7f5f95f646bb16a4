"""The recurrence with its own gradient against torch.gru."""

import pytest

torch = pytest.importorskip("torch")

from tensors import close, draw

from qse.nn.gru import gru


@pytest.mark.parametrize("frames", [1, 16, 37])
def test_gru_equals_torch_with_gradients(frames):
    x = draw(3, frames, 5)
    hidden = draw(3, 4)
    seen_by_output = draw(3, frames, 4)
    seen_by_last = draw(3, 4)
    weights = [draw(12, 5), draw(12, 4), draw(12), draw(12)]
    arguments = [x, hidden, *weights]
    for argument in arguments:
        argument.requires_grad_()
    expected, last = torch.gru(x, hidden[None], weights, True, 1, 0.0, True, False, True)
    y = gru(x, hidden, tuple(weights))
    close(y, expected)
    gradients = torch.autograd.grad(
        (y * seen_by_output).sum() + (y[:, -1] * seen_by_last).sum(), arguments
    )
    loss = (expected * seen_by_output).sum() + (last[0] * seen_by_last).sum()
    for gradient, of_torch in zip(gradients, torch.autograd.grad(loss, arguments), strict=True):
        close(gradient, of_torch)

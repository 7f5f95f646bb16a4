"""The Triton kernel of the GRU against torch.gru, run by Triton's interpreter on the CPU.

test_gru_kernel.py starts these tests in a process of their own, with TRITON_INTERPRET=1. The
interpreter cannot multiply bfloat16: float16 stands for both.
"""

import functools

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from qse.nn import recurrent
from qse.nn.gru_choice import _try
from qse.nn.gru_kernel import gru
from qse.nn.recurrent import QuaternionGRU


class NoReadBack(TorchDispatchMode):
    """Refuse operators that wait for a device to read a value from it."""

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        name = operator.overloadpacket.__name__
        assert name not in ("_local_scalar_dense", "nonzero", "equal", "is_nonzero"), name
        return operator(*args, **(kwargs or {}))


def drawn(count: int, frames: int, inputs: int, units: int) -> list[torch.Tensor]:
    """Return x, hidden and the four weights, float32, that want gradients."""
    shapes = (
        (count, frames, inputs),
        (count, units),
        (3 * units, inputs),
        (3 * units, units),
        (3 * units,),
        (3 * units,),
    )
    tensors = []
    for shape in shapes:
        scale = shape[-1] ** -0.5 if len(shape) == 2 and shape[0] == 3 * units else 1.0
        tensors.append((scale * torch.randn(shape)).requires_grad_())
    return tensors


def by_torch(x, hidden, *weights):
    y, _ = torch.gru(x, hidden[None], weights, True, 1, 0.0, True, False, True)
    return y


def by_kernel(x, hidden, *weights, product=torch.float32):
    return gru(x, hidden, weights, product)


def compare(function, arguments, tolerance: float) -> None:
    """Compare output and gradients of a loss of every frame, and of the last one twice."""
    (y, expected) = (function(*arguments), by_torch(*arguments))
    seen = torch.randn_like(y)
    results = []
    for output in (y, expected):
        loss = (output * seen).sum() + output[:, -1].square().sum()
        results.append((output, *torch.autograd.grad(loss, arguments)))
    for found, wanted in zip(*results, strict=True):
        assert found.dtype == torch.float32
        bound = tolerance * max(1.0, wanted.abs().max().item())
        torch.testing.assert_close(found, wanted, rtol=0, atol=bound)


@pytest.mark.parametrize("units", [20, 32, 64, 80, 128])
@pytest.mark.parametrize(("count", "frames"), [(1, 1), (3, 7), (16, 1), (37, 7)])
def test_kernel_equals_torch(count, frames, units):
    compare(by_kernel, drawn(count, frames, 24, units), 1e-5)


def test_products_of_16_bits_are_close_to_torch():
    half = functools.partial(by_kernel, product=torch.float16)
    compare(half, drawn(19, 9, 80, 80), 5e-3)


def test_strided_input_state_and_gradient():
    x = torch.randn(7, 5, 12).requires_grad_()
    hidden = torch.randn(20, 5).requires_grad_()
    _, _, *weights = drawn(5, 7, 12, 20)

    def strided(function):
        y = function(x.transpose(0, 1), hidden.t(), *weights)
        return torch.autograd.grad(y.transpose(0, 1).mean(), (x, hidden, *weights))  # expanded

    for found, expected in zip(strided(by_kernel), strided(by_torch), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


def test_weights_used_twice():
    def twice(function):
        def both(x, hidden, *weights):
            first = function(x[:, :4], hidden, *weights)
            return torch.cat([first, function(x[:, 4:], first[:, -1], *weights)], 1)

        return both

    arguments = drawn(5, 7, 12, 20)
    compare(twice(by_kernel), arguments, 1e-5)


def test_without_gradients_nothing_is_kept():
    arguments = drawn(5, 7, 12, 20)
    with torch.no_grad():
        y = by_kernel(*arguments)
    assert not y.requires_grad
    torch.testing.assert_close(y, by_torch(*arguments).detach())


def test_gradients_of_some():
    arguments = drawn(5, 7, 12, 20)
    for wanted in arguments:
        for argument in arguments:
            argument.requires_grad_(argument is wanted)
        (found,) = torch.autograd.grad(by_kernel(*arguments).sum(), [wanted])
        (expected,) = torch.autograd.grad(by_torch(*arguments).sum(), [wanted])
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-4)


def test_empty_batch():
    arguments = drawn(0, 7, 12, 20)
    y = by_kernel(*arguments)
    assert y.shape == (0, 7, 20)
    for gradient in torch.autograd.grad(y.sum(), arguments):
        assert not gradient.any()


def test_nothing_is_read_back():
    arguments = drawn(5, 7, 12, 20)
    with NoReadBack():
        y = by_kernel(*arguments)
        torch.autograd.grad(y, arguments, torch.ones_like(y))


def test_trial_runs_in_inference_mode():
    with torch.inference_mode():
        _try(gru, torch.device("cpu"), 20)


@pytest.mark.parametrize("training", [False, True])
def test_layer_with_the_kernel_is_the_layer_and_streams(monkeypatch, training):
    layer = QuaternionGRU(3, 5).train(training)
    x = torch.randn(4, 9, 4, 3)
    state = torch.randn(4, 4, 5)
    expected, end = layer(x, state)
    monkeypatch.setattr(recurrent, "chosen_gru", lambda *_: gru)
    for sizes in ([9], [4, 5], [1] * 9):
        outputs = []
        last = state
        for piece in x.split(sizes, 1):
            y, last = layer(piece, last)
            outputs.append(y)
        torch.testing.assert_close(torch.cat(outputs, 1), expected, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(last, end, rtol=1e-5, atol=1e-6)

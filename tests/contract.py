"""The streaming contract (law 1) as one check for every layer with state along time.

`verify_stream(layer, x, dim=...)` runs all of CHECKS. x is one input of `steps` steps along axis
`dim`, each `unit` elements long (a hop of samples, a frame); the output has as many steps along
`out_dim`. Everything is computed in float64, in eval mode, so that what differs is an error and not
rounding.
"""

import copy
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from qse.nn.state import flatten_state

TOLERANCE = 1e-9


class Case:
    """A layer, an input, and the layer's output and state for all of it at once: `expected` and
    `end`."""

    def __init__(self, layer: nn.Module, x: Tensor, dim: int, unit: int, out_dim: int):
        self.layer = layer
        self.x = x
        self.dim = dim
        self.unit = unit
        self.out_dim = out_dim
        self.steps = x.shape[dim] // unit
        self.expected, self.end = layer(x)

    def cut(self, x: Tensor, sizes: Iterable[int]) -> tuple[Tensor, ...]:
        """Split x into pieces of `sizes` steps."""
        return x.split([size * self.unit for size in sizes], self.dim)

    def join(self, pieces: list[Tensor]) -> Tensor:
        return torch.cat(pieces, self.out_dim)

    def first(self, y: Tensor, steps: int) -> Tensor:
        """Return the first steps of an output."""
        return y.narrow(self.out_dim, 0, steps * y.shape[self.out_dim] // self.steps)

    def splits(self) -> list[list[int]]:
        """Return splits: step by step, in pairs, in sevens, ragged, nearly all at once, and all at
        once."""
        ragged = [3, 1, 5, 2, 8, 1, 1, 4]
        sizes = []
        while sum(sizes) < self.steps:
            sizes.append(min(ragged[len(sizes) % len(ragged)], self.steps - sum(sizes)))
        even = [
            [size] * (self.steps // size) + [self.steps % size] * (self.steps % size > 0)
            for size in (1, 2, 7)
        ]
        return [*even, sizes, [1, self.steps - 1], [self.steps - 1, 1], [self.steps]]


@torch.no_grad()
def verify_stream(
    layer: nn.Module, x: Tensor, *, dim: int, unit: int = 1, out_dim: int | None = None
) -> None:
    """Raise AssertionError, naming the check, when `layer` breaks the streaming contract on `x`."""
    layer = copy.deepcopy(layer).double().eval()
    case = Case(layer, x.double(), dim, unit, dim if out_dim is None else out_dim)
    assert case.steps >= 9 and x.shape[dim] % unit == 0, (
        "the check needs nine complete steps or more"
    )
    for check in CHECKS:
        check(case)


def check_split(case: Case) -> None:
    """Check that splitting the input changes neither output nor state, nor the names and shapes of
    the state."""
    for sizes in case.splits():
        outputs = []
        state = None
        for piece in case.cut(case.x, sizes):
            y, state = case.layer(piece, state)
            outputs.append(y)
            _like(state, case.end, f"state of split {sizes}")
        _close(case.join(outputs), case.expected, f"output of split {sizes}")
        _close_state(state, case.end, f"state after split {sizes}")


def check_beginning(case: Case) -> None:
    """Check that the all-zero state is the beginning."""
    y, state = case.layer(case.x, _zeros(case.end))
    _close(y, case.expected, "output from the zero state")
    _close_state(state, case.end, "state from the zero state")


def check_future(case: Case) -> None:
    """Check that later input does not change earlier output."""
    for steps in (1, case.steps // 2, case.steps - 1):
        past, future = case.cut(case.x, [steps, case.steps - steps])
        y, _ = case.layer(torch.cat([past, 10 * torch.randn_like(future)], case.dim))
        _close(
            case.first(y, steps),
            case.first(case.expected, steps),
            f"the first {steps} steps under another future",
        )


def check_independence(case: Case) -> None:
    """Check that two streams through one layer, a step of each in turn, are independent, and states
    not modified."""
    other = 3 * torch.randn_like(case.x)
    outputs = []
    state = None
    other_state = None
    for piece, other_piece in zip(
        case.cut(case.x, [1] * case.steps), case.cut(other, [1] * case.steps), strict=True
    ):
        before = copy.deepcopy(state)
        _, other_state = case.layer(other_piece, other_state)
        y, after = case.layer(piece, state)
        if state is not None:
            _close_state(state, before, "state that was passed in")
        outputs = [*outputs, y]
        state = after
    _close(case.join(outputs), case.expected, "output beside another stream")
    _close_state(state, case.end, "state beside another stream")


def check_batch(case: Case) -> None:
    """Check that the first axis of x, y and every state is the batch: that two streams may be
    joined to one batch, from the beginning or later."""
    other = 3 * torch.randn_like(case.x)
    other_expected, other_end = case.layer(other)
    expected = torch.cat([case.expected, other_expected])
    end = _batch(case.end, other_end)
    y, state = case.layer(torch.cat([case.x, other]))
    _close(y, expected, "output of two streams in one batch")
    _close_state(state, end, "state of two streams in one batch")

    sizes = [case.steps // 2, case.steps - case.steps // 2]
    begin, rest = case.cut(case.x, sizes)
    other_begin, other_rest = case.cut(other, sizes)
    y, state = case.layer(begin)
    other_y, other_state = case.layer(other_begin)
    rest_y, state = case.layer(torch.cat([rest, other_rest]), _batch(state, other_state))
    y = case.join([torch.cat([y, other_y]), rest_y])
    _close(y, expected, "output of two streams joined")
    _close_state(state, end, "state of two streams joined")


CHECKS = (check_split, check_beginning, check_future, check_independence, check_batch)


def _zeros(state):
    if isinstance(state, Tensor):
        return torch.zeros_like(state)
    return {key: _zeros(leaf) for key, leaf in state.items()}


def _batch(first, second):
    if isinstance(first, Tensor):
        return torch.cat([first, second])
    return {key: _batch(leaf, second[key]) for key, leaf in first.items()}


def _like(state, expected, what: str) -> None:
    found = {key: leaf.shape for key, leaf in flatten_state(state).items()}
    wanted = {key: leaf.shape for key, leaf in flatten_state(expected).items()}
    assert found == wanted, f"{what}: {found} instead of {wanted}"


def _close(found: Tensor, expected: Tensor, what: str) -> None:
    assert found.shape == expected.shape, (
        f"{what}: shape {tuple(found.shape)} instead of {tuple(expected.shape)}"
    )
    assert torch.isfinite(expected).all(), f"{what}: not finite"
    if expected.numel():
        error = (found - expected).abs().max() / expected.abs().max().clamp_min(1)
        assert error <= TOLERANCE, f"{what}: off by {error:.1e}"


def _close_state(found, expected, what: str) -> None:
    _like(found, expected, what)
    wanted = flatten_state(expected)
    for path, leaf in flatten_state(found).items():
        _close(leaf, wanted[path], f"{what}, {path or 'tensor'}")

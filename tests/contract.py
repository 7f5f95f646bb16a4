"""Law 1 as one check: what every layer with a memory along time owes, however its input is cut.

`verify_stream(layer, x, dim=...)` runs all of CHECKS. x is one input of `steps` steps along axis `dim`, each `unit`
elements long (a hop of samples, a frame); the output has as many steps along `out_dim`. Everything is computed in
float64, in eval mode, so that what differs is an error and not rounding.
"""

import copy
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from qse.nn.state import flatten_state

TOLERANCE = 1e-9


class Case:
    """A layer, an input, and what the layer makes of all of it at once: `whole`, and the state `end`."""

    def __init__(self, layer: nn.Module, x: Tensor, dim: int, unit: int, out_dim: int):
        self.layer, self.x, self.dim, self.unit, self.out_dim = layer, x, dim, unit, out_dim
        self.steps = x.shape[dim] // unit
        self.whole, self.end = layer(x)

    def cut(self, x: Tensor, sizes: Iterable[int]) -> tuple[Tensor, ...]:
        """x in pieces of so many steps."""
        return x.split([size * self.unit for size in sizes], self.dim)

    def join(self, pieces: list[Tensor]) -> Tensor:
        return torch.cat(pieces, self.out_dim)

    def first(self, y: Tensor, steps: int) -> Tensor:
        """The first steps of an output."""
        return y.narrow(self.out_dim, 0, steps * y.shape[self.out_dim] // self.steps)

    def splits(self) -> list[list[int]]:
        """Step by step, in pairs, in sevens, ragged, nearly all at once, and all at once."""
        ragged, sizes = [3, 1, 5, 2, 8, 1, 1, 4], []
        while sum(sizes) < self.steps:
            sizes.append(min(ragged[len(sizes) % len(ragged)], self.steps - sum(sizes)))
        even = [[size] * (self.steps // size) + [self.steps % size] * (self.steps % size > 0) for size in (1, 2, 7)]
        return [*even, sizes, [1, self.steps - 1], [self.steps - 1, 1], [self.steps]]


@torch.no_grad()
def verify_stream(layer: nn.Module, x: Tensor, *, dim: int, unit: int = 1, out_dim: int | None = None) -> None:
    """Raises AssertionError, naming the check, when `layer` does not keep the streaming law on `x`."""
    layer = copy.deepcopy(layer).double().eval()
    case = Case(layer, x.double(), dim, unit, dim if out_dim is None else out_dim)
    assert case.steps >= 9 and x.shape[dim] % unit == 0, "the check needs nine whole steps or more"
    for check in CHECKS:
        check(case)


def check_split(case: Case) -> None:
    """Where the input is cut changes neither output nor memory; the memory's names and shapes never change."""
    for sizes in case.splits():
        outputs, state = [], None
        for piece in case.cut(case.x, sizes):
            y, state = case.layer(piece, state)
            outputs.append(y)
            _like(state, case.end, f"state of split {sizes}")
        _close(case.join(outputs), case.whole, f"output of split {sizes}")
        _close_state(state, case.end, f"state after split {sizes}")


def check_beginning(case: Case) -> None:
    """The all-zero state is the beginning."""
    y, state = case.layer(case.x, _zeros(case.end))
    _close(y, case.whole, "output from the zero state")
    _close_state(state, case.end, "state from the zero state")


def check_future(case: Case) -> None:
    """What comes later does not move what has been put out."""
    for steps in (1, case.steps // 2, case.steps - 1):
        past, future = case.cut(case.x, [steps, case.steps - steps])
        y, _ = case.layer(torch.cat([past, 10 * torch.randn_like(future)], case.dim))
        _close(case.first(y, steps), case.first(case.whole, steps), f"the first {steps} steps under another future")


def check_strangers(case: Case) -> None:
    """Two streams through one layer, a step of each in turn, do not touch; a state given stays as it was."""
    other, outputs = 3 * torch.randn_like(case.x), []
    mine = theirs = None
    for piece, stranger in zip(case.cut(case.x, [1] * case.steps), case.cut(other, [1] * case.steps), strict=True):
        kept = copy.deepcopy(mine)
        _, theirs = case.layer(stranger, theirs)
        y, after = case.layer(piece, mine)
        if mine is not None:
            _close_state(mine, kept, "state that was handed in")
        outputs, mine = [*outputs, y], after
    _close(case.join(outputs), case.whole, "output beside another stream")
    _close_state(mine, case.end, "state beside another stream")


CHECKS = (check_split, check_beginning, check_future, check_strangers)


def _zeros(state):
    return torch.zeros_like(state) if isinstance(state, Tensor) else {key: _zeros(leaf) for key, leaf in state.items()}


def _like(state, expected, what: str) -> None:
    found, wanted = ({key: leaf.shape for key, leaf in flatten_state(tree).items()} for tree in (state, expected))
    assert found == wanted, f"{what}: {found} instead of {wanted}"


def _close(found: Tensor, expected: Tensor, what: str) -> None:
    assert found.shape == expected.shape, f"{what}: shape {tuple(found.shape)} instead of {tuple(expected.shape)}"
    assert torch.isfinite(expected).all(), f"{what}: not finite"
    if expected.numel():
        error = (found - expected).abs().max() / expected.abs().max().clamp_min(1)
        assert error <= TOLERANCE, f"{what}: off by {error:.1e}"


def _close_state(found, expected, what: str) -> None:
    _like(found, expected, what)
    wanted = flatten_state(expected)
    for path, leaf in flatten_state(found).items():
        _close(leaf, wanted[path], f"{what}, {path or 'tensor'}")

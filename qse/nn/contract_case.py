"""Hold what the checks of the contract compare: a layer, its input, output and state."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from .state import State, flatten_state, map_state


class Difference(Exception):
    """Two computations differ that must not; path: that of the state, or the weight, where they
    do."""

    def __init__(self, message: str, path: str = ""):
        super().__init__(message)
        self.path = path


class Call(NamedTuple):
    """Hold what a call of a layer returned."""

    y: Tensor
    state: State


class Case:
    """A layer, an input x, another one of the same shape, and what the layer computes from all of
    x at once: `expected`, and the state `end`.

    dim, out_dim: axes of time in x and in the output. unit: elements of a step of x. splits: sizes
    of the pieces, in steps, into which the checks split x. sizes: those of the last one tried.
    tolerance: the largest difference that is rounding, relative to values above 1.
    """

    def __init__(
        self,
        layer: nn.Module,
        x: Tensor,
        dim: int,
        unit: int,
        out_dim: int,
        splits: Sequence[list[int]],
        tolerance: float,
    ):
        self.layer = layer
        self.x = x
        self.dim = dim
        self.unit = unit
        self.out_dim = out_dim
        self.splits = splits
        self.sizes = splits[0]
        self.tolerance = tolerance
        self.steps = x.shape[dim] // unit
        noise = torch.randn(x.shape, generator=torch.Generator().manual_seed(1))
        self.other = 3 * noise.to(x)
        with torch.no_grad():
            self.expected, self.end = layer(x)

    @property
    def brief(self) -> bool:
        """Return whether one split stands for all."""
        return len(self.splits) == 1

    @cached_property
    def alone(self) -> list[Call]:
        """Return the calls on the pieces of the first split of x, without another stream."""
        return self.calls(self.x, self.splits[0])

    @torch.no_grad()
    def calls(self, x: Tensor, sizes: Sequence[int]) -> list[Call]:
        """Call the layer on the pieces of x, one after another."""
        calls = []
        state: Any = None
        for piece in self.cut(x, sizes):
            y, state = self.layer(piece, state)
            calls.append(Call(y, copy_of(state)))
        return calls

    def cut(self, x: Tensor, sizes: Iterable[int]) -> tuple[Tensor, ...]:
        """Split x into pieces of `sizes` steps."""
        return x.split([size * self.unit for size in sizes], self.dim)

    def join(self, pieces: Sequence[Tensor]) -> Tensor:
        """Return the output that consists of `pieces`."""
        return torch.cat(list(pieces), self.out_dim)

    def first(self, y: Tensor, steps: int) -> Tensor:
        """Return the first steps of an output."""
        return y.narrow(self.out_dim, 0, steps * y.shape[self.out_dim] // self.steps)

    def require_close(self, found: Tensor, expected: Tensor, what: str, path: str = "") -> None:
        """Raise Difference if two tensors differ in shape, or in a value by more than rounding."""
        if found.shape != expected.shape:
            shapes = f"has the shape {tuple(found.shape)} instead of {tuple(expected.shape)}"
            raise Difference(f"{what} {shapes}", path)
        if not expected.isfinite().all():
            raise Difference(f"{what} is not finite", path)
        error = largest_difference(found, expected)
        if not error <= self.tolerance:
            raise Difference(f"{what} is off by {error:.1e}", path)

    def require_same_state(self, found: State, expected: State, what: str) -> None:
        """Raise Difference if two states differ in names, shapes or values."""
        self.require_alike(found, expected, what)
        wanted = flatten_state(expected)
        for path, leaf in flatten_state(found).items():
            self.require_close(leaf, wanted[path], _named(what, path), path)

    def require_alike(self, found: State, expected: State, what: str) -> None:
        """Raise Difference if two states differ in names or shapes."""
        leaves = flatten_state(found)
        wanted = flatten_state(expected)
        if leaves.keys() != wanted.keys():
            names = f"has the parts {list(leaves)} instead of {list(wanted)}"
            path = min(leaves.keys() ^ wanted.keys())
            raise Difference(f"{what} {names}", path)
        for path, leaf in leaves.items():
            if leaf.shape != wanted[path].shape:
                shapes = f"the shape {tuple(leaf.shape)} instead of {tuple(wanted[path].shape)}"
                raise Difference(f"{_named(what, path)} has {shapes}", path)


def largest_difference(found: Tensor, expected: Tensor) -> float:
    """Return the largest difference of two tensors, relative to the largest value above 1."""
    if not expected.numel():
        return 0.0
    scale = expected.abs().max().clamp_min(1)
    return float((found - expected).abs().max() / scale)


def batch_of(first: State, second: State) -> State:
    """Return the state of two streams as that of one batch."""
    return map_state(lambda *leaves: torch.cat(leaves), first, second)


def copy_of(state: State) -> State:
    """Return a copy of a state."""
    return map_state(torch.clone, state)


def _named(what: str, path: str) -> str:
    return f"{what}, {path}," if path else what

"""Define streaming layers and handle their states.

A layer with state along time is `Stateful`: `forward(x, state=None) -> (y, state)`. For every split
of x along time

    f(x ++ x', s) == (y ++ y', s'')   where   (y, s') = f(x, s)   and   (y', s'') = f(x', s'),

and the all-zero state is the beginning: `f(x) == f(x, zeros)`. State is a value: a tensor, or a
dict that mirrors the module tree, whose first axis is the batch, or batch and bands. Nothing is
written to `self`. A layer without state is a plain `nn.Module`, `x -> y`.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

State = Tensor | dict[str, "State"]


class Stateful(nn.Module):
    """A layer with state along time: `forward(x, state=None) -> (y, state)`. The initial state is
    all zeros.

    A layer that delays its input sets `look_ahead` (frames) or `latency` (samples, of a layer that
    puts out samples). Those of a composite are the sums of its layers', which are in series; where
    they are not, it sets its own.
    """

    _look_ahead: int | None = None
    _latency: int | None = None

    @property
    def look_ahead(self) -> int:
        """Return the frames by which the output lags the input, because the layer reads as many
        frames ahead."""
        if self._look_ahead is not None:
            return self._look_ahead
        return sum(layer.look_ahead for layer in stateful_layers(self))

    @look_ahead.setter
    def look_ahead(self, frames: int) -> None:
        self._look_ahead = frames

    @property
    def latency(self) -> int:
        """Return the samples by which the output lags the input, besides those of `look_ahead`."""
        if self._latency is not None:
            return self._latency
        return sum(layer.latency for layer in stateful_layers(self))

    @latency.setter
    def latency(self, samples: int) -> None:
        self._latency = samples


def stateful_layers(module: nn.Module) -> Iterator[Stateful]:
    """Yield the layers with state below `module`, without the layers inside of them."""
    for child in module.children():
        if isinstance(child, Stateful):
            yield child
        else:
            yield from stateful_layers(child)


def delay(x: Tensor, past: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Delay x along `dim` by as many steps as `past` has; return the delayed x and the past of the
    next call.

    Equal to splitting `past ++ x` after as many steps as x has, without concatenating them first.
    """
    steps = x.shape[dim]
    kept = past.shape[dim]
    out = min(steps, kept)  # steps that leave the past
    due, waiting = _cut(past, out, dim)
    now, later = _cut(x, steps - out, dim)
    return _join(due + now, dim), _join(waiting + later, dim)


def _cut(x: Tensor, at: int, dim: int) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Split x at a position; each side is a tuple of one tensor, or empty."""
    if at in (0, x.shape[dim]):
        return ((x,), ()) if at else ((), (x,))
    before, after = x.split([at, x.shape[dim] - at], dim)
    return (before,), (after,)


def _join(parts: tuple[Tensor, ...], dim: int) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim)


def flatten_state(state: State, path: str = "") -> dict[str, Tensor]:
    """Return a state tree as one flat dict; the key of a leaf is the path of its layer, joined by
    dots."""
    if isinstance(state, Tensor):
        return {path: state}
    if not isinstance(state, Mapping):
        wanted = "return a tensor or a dict, {} without one"
        raise TypeError(f"the state of {path or 'a layer'} is {state!r}: {wanted}")
    flat = {}
    for name, child in state.items():
        flat.update(flatten_state(child, f"{path}.{name}" if path else name))
    return flat


def map_state(function: Callable[..., Tensor], *states: Any) -> Any:
    """Return the state whose leaves are `function` of the leaves of states of one structure."""
    first = states[0]
    if isinstance(first, Tensor):
        return function(*states)
    return {key: map_state(function, *(state[key] for state in states)) for key in first}


def initial_state(state: Any) -> Any:
    """Return the beginning of a stream: zeros in the shapes of `state`."""
    return map_state(torch.zeros_like, state)


def unflatten_state(flat: Mapping[str, Tensor]) -> dict:
    """Return the state tree of a flat dict, the inverse of `flatten_state`."""
    tree: dict = {}
    for path, leaf in flat.items():
        *parents, name = path.split(".")
        node = tree
        for parent in parents:
            node = node.setdefault(parent, {})
        node[name] = leaf
    return tree

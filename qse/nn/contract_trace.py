"""Find the layer in which two computations of a network begin to differ."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from .contract_case import largest_difference
from .state import State, Stateful

ENTRY = "entry"
EXIT = "exit"
Place = tuple[str, str, int]  # path of a layer, ENTRY or EXIT, how many calls of it came before


class Run(NamedTuple):
    """Hold what went into every layer of a network and came out, in order, and the state after
    it."""

    tensors: dict[Place, list[Tensor]]
    state: Any


Runs = tuple[list[Run], list[Run]]  # that are equal, as a whole, place by place


@torch.no_grad()
def traced(layer: nn.Module, x: Tensor, state: State | None = None) -> Run:
    """Call a layer and return what each layer in it received and returned, states left out."""
    tensors: dict[Place, list[Tensor]] = {}
    calls: Counter[tuple[str, str]] = Counter()

    def note(path: str, when: str, value: Any) -> None:
        tensors[path, when, calls[path, when]] = list(_tensors(value))
        calls[path, when] += 1

    with _hooked(
        layer,
        lambda path, arguments: note(path, ENTRY, arguments[:1]),
        lambda path, output: note(path, EXIT, output[0] if isinstance(output, tuple) else output),
    ):
        _, after = layer(x, state)
    return Run(tensors, after)


def first_difference(runs: Runs, tolerance: float) -> str | None:
    """Return the path of the layer in which two sides begin to differ, None if in none.

    Where what goes into a layer differs first, it is the layer around it. One side may be several
    runs, on parts of what is one on the other; what cannot be joined, such as the overlapping
    inputs of a convolution, is not compared.
    """
    expected, found = runs
    for place in expected[0].tensors:
        wanted = [run.tensors.get(place, []) for run in expected]
        given = [run.tensors.get(place, []) for run in found]
        if _differs(wanted, given, tolerance):
            path, when, _ = place
            return path if when == EXIT else path.rpartition(".")[0]
    return None


def raising_layer(layer: nn.Module, compute: Callable[[], object]) -> str:
    """Return the path of the innermost layer with a state in which `compute` raises; "" if that is
    in none."""
    entered: list[str] = []
    stateful = {path for path, part in layer.named_modules() if isinstance(part, Stateful)}
    with _hooked(layer, lambda path, _: entered.append(path), lambda path, _: entered.remove(path)):
        try:
            compute()
        except Exception:
            inside = [path for path in entered if path in stateful]
            return inside[-1] if inside else ""
    return ""


def path_of_state(layer: nn.Module, path: str) -> str:
    """Return the path of the layer to which a part of the state, or a weight, belongs."""
    known = {name for name, _ in layer.named_modules()}
    while path not in known:
        path = path.rpartition(".")[0]
    return path


@contextmanager
def _hooked(
    layer: nn.Module, entry: Callable[[str, Any], object], leave: Callable[[str, Any], object]
) -> Iterator[None]:
    """Call `entry` with the path and the arguments of every layer in `layer`, `leave` with the path
    and the output, during the context."""
    handles = []

    def hook(path: str, part: nn.Module) -> None:
        def before(_part: nn.Module, arguments: Any) -> None:
            entry(path, arguments)

        def after(_part: nn.Module, _arguments: Any, output: Any) -> None:
            leave(path, output)

        handles.append(part.register_forward_pre_hook(before))
        handles.append(part.register_forward_hook(after))

    for path, part in layer.named_modules():
        hook(path, part)
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _tensors(value: Any) -> Iterator[Tensor]:
    """Yield the tensors in nested tuples, lists and dicts."""
    if isinstance(value, Tensor):
        yield value.detach().clone()
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _tensors(inner)
    elif isinstance(value, tuple | list):
        for inner in value:
            yield from _tensors(inner)


def _differs(expected: list[list[Tensor]], found: list[list[Tensor]], tolerance: float) -> bool:
    """Return whether the tensors of two sides differ, each the runs of one place."""
    counts = {len(tensors) for tensors in (*expected, *found)}
    if len(counts) > 1:
        return False
    for wanted, given in zip(zip(*expected, strict=True), zip(*found, strict=True), strict=True):
        if len(wanted) == len(given):
            pairs = list(zip(wanted, given, strict=True))
        else:
            joined = _joined(wanted, given)
            pairs = [joined] if joined else []
        for one, other in pairs:
            if one.shape != other.shape or not largest_difference(other, one) <= tolerance:
                return True
    return False


def _joined(wanted: tuple[Tensor, ...], given: tuple[Tensor, ...]) -> tuple[Tensor, Tensor] | None:
    """Return the whole and the joined parts; None if these do not add up along an axis."""
    is_whole = len(wanted) == 1
    whole = wanted[0] if is_whole else given[0]
    parts = given if is_whole else wanted
    for dim in range(whole.ndim):
        if sum(part.shape[dim] for part in parts) != whole.shape[dim]:
            continue
        try:
            joined = torch.cat(parts, dim)
        except RuntimeError:
            continue
        if joined.shape == whole.shape:
            return whole, joined
    return None

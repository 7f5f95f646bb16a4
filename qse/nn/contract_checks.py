"""Check the laws of streaming one by one on a `Case`; contract.py says what each law is.

A check raises Difference, or what the layer raises. Beside a check stand its runs: pairs of
computations, traced layer by layer, that differ where the law is broken.
"""

import copy

import torch
from torch import Tensor

from .contract_case import Case, Difference, batch_of, copy_of
from .contract_trace import Run, Runs, traced
from .state import State, flatten_state, initial_state


def all_splits(steps: int) -> list[list[int]]:
    """Return splits of `steps` steps: ragged, step by step, in pairs, in sevens, nearly all at
    once, and all at once."""
    pattern = [3, 1, 5, 2, 8, 1, 1, 4]
    ragged: list[int] = []
    while sum(ragged) < steps:
        ragged.append(min(pattern[len(ragged) % len(pattern)], steps - sum(ragged)))
    even = []
    for size in (1, 2, 7):
        rest = [steps % size] if steps % size else []
        even.append([size] * (steps // size) + rest)
    return [ragged, *even, [1, steps - 1], [steps - 1, 1], [steps]]


@torch.no_grad()
def check_zero_state(case: Case) -> None:
    """Check that the all-zero state is the beginning."""
    y, state = case.layer(case.x, initial_state(case.end))
    case.require_close(y, case.expected, "the output from the zero state")
    case.require_same_state(state, case.end, "the state after the zero state")


@torch.no_grad()
def check_value(case: Case) -> None:
    """Check that the same calls give the same again, also with another stream between them, and do
    not modify the state that is passed in."""
    state: State | None = None
    other_state: State | None = None
    others = case.cut(case.other, case.splits[0])
    pieces = case.cut(case.x, case.splits[0])
    for piece, other, wanted in zip(pieces, others, case.alone, strict=True):
        _, other_state = case.layer(other, other_state)
        before = None if state is None else copy_of(state)
        y, after = case.layer(piece, state)
        if state is not None and before is not None:
            case.require_same_state(state, before, "a state that was passed in")
        case.require_close(y, wanted.y, "the output of the same call beside another stream")
        case.require_same_state(after, wanted.state, "the state beside another stream")
        state = after


@torch.no_grad()
def check_split(case: Case) -> None:
    """Check that splitting the input changes neither output nor state, nor names and shapes of the
    state."""
    for sizes in case.splits:
        case.sizes = sizes
        what = f"of the split {sizes}"
        calls = case.alone if sizes == case.splits[0] else case.calls(case.x, sizes)
        for call in calls:
            case.require_alike(call.state, case.end, f"the state {what}")
        y = case.join([call.y for call in calls])
        case.require_close(y, case.expected, f"the output {what}")
        case.require_same_state(calls[-1].state, case.end, f"the state {what}")


@torch.no_grad()
def check_batch(case: Case) -> None:
    """Check that the first axis of x, y and every state is the batch: that two streams may be
    joined to one batch, after a piece or, where not in brief, from the beginning."""
    (begin, second), (other_begin, other_second) = _begin(case)
    first = case.alone[0]
    other = case.layer(other_begin)
    other_y, other_state = case.layer(other_second, other[1])
    y, state = case.layer(torch.cat([second, other_second]), batch_of(first.state, other[1]))
    then = case.alone[1]
    what = "of two streams that were joined later"
    case.require_close(y, torch.cat([then.y, other_y]), f"the output {what}")
    case.require_same_state(state, batch_of(then.state, other_state), f"the state {what}")
    if case.brief:
        return
    y, state = case.layer(torch.cat([begin, other_begin]))
    case.require_close(y, torch.cat([first.y, other[0]]), "the output of two streams in one batch")
    expected = batch_of(first.state, other[1])
    case.require_same_state(state, expected, "the state of two streams in one batch")


@torch.no_grad()
def check_length(case: Case) -> None:
    """Check that later input does not change earlier output."""
    for steps in (1, case.steps // 2, case.steps - 1):
        sizes = [steps, case.steps - steps]
        past, _ = case.cut(case.x, sizes)
        _, future = case.cut(case.other, sizes)
        y, _ = case.layer(torch.cat([past, 10 * future], case.dim))
        wanted = case.first(case.expected, steps)
        what = f"the output of the first {steps} steps under other later ones"
        case.require_close(case.first(y, steps), wanted, what)


@torch.no_grad()
def check_dtype(case: Case) -> None:
    """Check in float64 and float32 that output and state have the type of the input."""
    single = copy.deepcopy(case.layer).float()
    for layer, x in ((case.layer, case.x), (single, case.x.float())):
        y, state = layer(x)
        for path, leaf in {"": y, **_paths(state)}.items():
            if leaf.is_floating_point() and leaf.dtype != x.dtype:
                what = f"the state {path}" if path else "the output"
                raise Difference(f"{what} of {x.dtype} input is {leaf.dtype}", path)


@torch.no_grad()
def check_device(case: Case) -> None:
    """Check that output and state are on the device of the input, which is PyTorch's device for
    shapes without numbers. A layer that needs numbers there cannot be checked."""
    layer = copy.deepcopy(case.layer).to("meta")
    x = case.x.to("meta")
    try:
        y, state = layer(x)
        y, state = layer(x, state)
    except NotImplementedError:
        return
    except RuntimeError as error:
        if "device" in str(error):
            raise
        return
    for path, leaf in {"": y, **_paths(state)}.items():
        if leaf.device != x.device:
            what = f"the state {path}" if path else "the output"
            raise Difference(f"{what} is on {leaf.device}, and the input elsewhere", path)


@torch.enable_grad()
def check_gradients(case: Case) -> None:
    """Check that splitting the input does not change the gradients of input and weights."""
    wanted = _gradients(case, [case.steps])
    found = _gradients(case, case.splits[0])
    for path, gradient in wanted.items():
        what = f"the gradient of {path or 'the input'} of the split {case.splits[0]}"
        split = found.get(path)
        if split is not None and gradient is not None:
            case.require_close(split, gradient, what, path)
        elif split is not gradient:
            raise Difference(f"{what} is missing", path)


def zero_state_runs(case: Case) -> list[Runs]:
    whole = traced(case.layer, case.x)
    return [([whole], [traced(case.layer, case.x, initial_state(case.end))])]


def value_runs(case: Case) -> list[Runs]:
    alone = _traced_pieces(case, case.splits[0])
    beside = _traced_pieces(case, case.splits[0], case.other)
    return [(alone, beside)]


def split_runs(case: Case) -> list[Runs]:
    return [([traced(case.layer, case.x)], _traced_pieces(case, case.sizes))]


def batch_runs(case: Case) -> list[Runs]:
    (begin, second), (other_begin, other_second) = _begin(case)
    alone = [traced(case.layer, begin), traced(case.layer, other_begin)]
    together = traced(case.layer, torch.cat([begin, other_begin]))
    state = alone[0].state
    other_state = alone[1].state
    later = [traced(case.layer, second, state), traced(case.layer, other_second, other_state)]
    joined = batch_of(state, other_state)
    return [
        (alone, [together]),
        (later, [traced(case.layer, torch.cat([second, other_second]), joined)]),
    ]


def no_runs(case: Case) -> list[Runs]:
    """Return nothing: the law is not one of two computations that are equal layer by layer."""
    return []


def _traced_pieces(case: Case, sizes: list[int], between: Tensor | None = None) -> list[Run]:
    """Return the calls on the pieces of x; between them those of another stream, untraced."""
    runs = []
    state: State | None = None
    other_state: State | None = None
    others = case.cut(case.x if between is None else between, sizes)
    for piece, other in zip(case.cut(case.x, sizes), others, strict=True):
        if between is not None:
            _, other_state = case.layer(other, other_state)
        runs.append(traced(case.layer, piece, state))
        state = runs[-1].state
    return runs


def _begin(case: Case) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Return the first two pieces of x, and those of the other input."""
    sizes = case.splits[0]
    return case.cut(case.x, sizes)[:2], case.cut(case.other, sizes)[:2]


def _gradients(case: Case, sizes: list[int]) -> dict[str, Tensor | None]:
    """Return the gradients of the input, "", and of all weights by name."""
    x = case.x.clone().requires_grad_(True)
    names = dict(case.layer.named_parameters())
    outputs = []
    state = None
    for piece in case.cut(x, sizes):
        y, state = case.layer(piece, state)
        outputs.append(y)
    y = case.join(outputs)
    if not y.requires_grad:
        return {}  # of a layer that is constant for the training
    wanted = [x, *(weight for weight in names.values() if weight.requires_grad)]
    paths = ["", *(path for path, weight in names.items() if weight.requires_grad)]
    gradients = torch.autograd.grad((y * y.detach().cos()).sum(), wanted, allow_unused=True)
    return dict(zip(paths, gradients, strict=True))


def _paths(state: State) -> dict[str, Tensor]:
    return {path or "tensor": leaf for path, leaf in flatten_state(state).items()}

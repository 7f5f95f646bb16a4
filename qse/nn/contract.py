"""Check that a layer with state along time keeps the laws of streaming.

    verify_stream(layer, x, dim=1)        all of LAWS, for tests of a layer or a network
    verify_briefly(network, hop_length)   LAWS_IN_BRIEF, in a fraction of a second; training and
                                          export call it

state is a value  nothing is kept in `self`: the same call gives the same result, also beside
                  another stream, and a state that was passed in is not modified
split             splitting the input along time changes neither output nor state
zero state        the all-zero state is the beginning: f(x) == f(x, zeros)
batch first       the first axis of input, output and every state is the batch: streams that are
                  joined to one batch, at the beginning or later, give what each gives alone
length            later input does not change earlier output, so that no mask is needed
dtype             output and state have the type of the input
device            output and state are on the device of the input
gradients         splitting the input does not change gradients

`verify_briefly` checks the first four, on five hops in the place of nine or more steps, in one
split in the place of seven, and joins streams to one batch later alone. Every check runs on a copy
of the layer in eval mode, in float64, so that what differs is an error and not rounding. A law that
is broken raises `LawBroken`, which names the layer in which the first difference arises, and the
cure.
"""

import copy
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ..errors import QseError
from . import contract_checks as checks
from .contract_case import Case, Difference
from .contract_trace import Runs, first_difference, path_of_state, raising_layer
from .declared import layer_name

BRIEF_SPLIT = [1, 1, 3]  # hops
EXACT = 1e-9  # largest difference in float64, of outputs up to 1, else relative
ROUNDED = 1e-4  # in float32
SMALL = 0.01  # standard deviation of what replaces weights that are all zero


class Law(NamedTuple):
    """A law: its check, two computations that differ where it is broken, and the cure."""

    check: Callable[[Case], None]
    runs: Callable[[Case], list[Runs]]
    cure: str


LAWS = {
    "state is a value": Law(
        checks.check_value,
        checks.value_runs,
        "keep nothing in self, modify no state in place, and return what the next call needs",
    ),
    "split": Law(
        checks.check_split,
        checks.split_runs,
        "keep in the state what a frame needs of earlier ones, and take no statistics over a call",
    ),
    "zero state": Law(
        checks.check_zero_state,
        checks.zero_state_runs,
        "begin with zeros where the state is None",
    ),
    "batch first": Law(
        checks.check_batch,
        checks.batch_runs,
        "let the first axis of input, output and every state be that of the batch",
    ),
    "length": Law(
        checks.check_length,
        checks.no_runs,
        "compute a frame from it and earlier ones alone; wait in the state for later ones",
    ),
    "dtype": Law(
        checks.check_dtype,
        checks.no_runs,
        "make tensors of the input's type, as x.new_zeros does",
    ),
    "device": Law(
        checks.check_device,
        checks.no_runs,
        "make tensors on the input's device, as x.new_zeros does, and register others as buffers",
    ),
    "gradients": Law(
        checks.check_gradients,
        checks.no_runs,
        "do not detach the state; the training does, between segments",
    ),
}
LAWS_IN_BRIEF = ("state is a value", "split", "zero state", "batch first")


class LawBroken(QseError):
    """A layer breaks a law of streaming.

    law: its name in LAWS. path: the layer in the network that was checked; "" is the network.
    """

    def __init__(self, law: str, path: str, message: str):
        super().__init__(message)
        self.law = law
        self.path = path


def verify_stream(
    layer: nn.Module, x: Tensor, *, dim: int, unit: int = 1, out_dim: int | None = None
) -> None:
    """Raise LawBroken if `layer` breaks one of LAWS on the input x.

    dim: the axis of time in x, which has nine steps or more, each of `unit` elements (a frame, or a
    hop of samples). out_dim: the axis of time in the output, which has as many steps; None: dim.
    Raises ValueError for an input that is too short.
    """
    if x.shape[dim] % unit or x.shape[dim] < 9 * unit:
        raise ValueError(f"{x.shape[dim]} elements along time: give nine whole steps or more")
    layer = copy.deepcopy(layer).double().eval()
    splits = checks.all_splits(x.shape[dim] // unit)
    x = x.detach().double()
    _verify(Case(layer, x, dim, unit, dim if out_dim is None else out_dim, splits, EXACT), LAWS)


@torch.no_grad()
def verify_briefly(network: nn.Module, hop_length: int) -> None:
    """Raise LawBroken if `network`, (B, T * hop_length) -> (B, T * hop_length), breaks one of
    LAWS_IN_BRIEF on five hops of noise. Of what waits longer than that, as a look-ahead may, the
    state is compared.

    Weights that are all zero, behind which a layer has no effect until it is trained, are replaced
    in the copy by small random ones. A network that cannot compute in float64 is checked in
    float32, with a larger tolerance.
    """
    random = torch.Generator().manual_seed(0)
    network = copy.deepcopy(network).eval()
    for weight in network.parameters():
        if not weight.any():
            weight.copy_(SMALL * torch.randn(weight.shape, generator=random))
    audio = 0.1 * torch.randn(1, sum(BRIEF_SPLIT) * hop_length, generator=random)
    for weight in network.parameters():
        audio = audio.to(weight.device)
    try:
        exact = copy.deepcopy(network).double()
        case = Case(exact, audio.double(), 1, hop_length, 1, [BRIEF_SPLIT], EXACT)
    except (RuntimeError, TypeError):
        case = Case(network, audio, 1, hop_length, 1, [BRIEF_SPLIT], ROUNDED)
    _verify(case, {name: LAWS[name] for name in LAWS_IN_BRIEF})


def _verify(case: Case, laws: dict[str, Law]) -> None:
    for name, law in laws.items():
        try:
            law.check(case)
        except Exception as error:
            path = _layer_at_fault(case, law, error)
            layer = layer_name(case.layer.get_submodule(path), path)
            found = str(error) if isinstance(error, Difference) else f"it raises {error!r}"
            message = f"{layer} breaks the law {name!r} of streaming: {found}; {law.cure}"
            raise LawBroken(name, path, message) from error


def _layer_at_fault(case: Case, law: Law, error: Exception) -> str:
    """Return the path of the layer in which the first difference arises; "" where that is not
    found."""
    if not isinstance(error, Difference):
        return raising_layer(case.layer, lambda: law.check(case))
    for runs in law.runs(case):
        path = first_difference(runs, case.tolerance)
        if path is not None:
            return path
    return path_of_state(case.layer, error.path)

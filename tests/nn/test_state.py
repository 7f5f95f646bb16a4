"""State trees, the delay line, and the streaming contract, which an honest layer passes and every
cheat fails."""

import pytest

torch = pytest.importorskip("torch")

import contract

from qse.nn.state import Stateful, delay, flatten_state, unflatten_state


class Difference(Stateful):
    """Compute x[t] - x[t - 1], for (B, C, T); state: the last frame.

    The honest layer that the cheats are made from.
    """

    def forward(self, x, past=None):
        past = x.new_zeros(*x.shape[:2], 1) if past is None else past
        line = torch.cat([past, x], 2)
        return line[..., 1:] - line[..., :-1], line[..., -1:]


class HiddenMemory(Difference):
    """Stores its past in an attribute, and resets it on a zero state: only a second stream reveals
    it."""

    def forward(self, x, past=None):
        fresh = past is None or not past.any()
        y, self.past = super().forward(x, None if fresh else self.past)
        return y, self.past


class Forgetful(Difference):
    """Correct on an input at once, but returns a zero state."""

    def forward(self, x, past=None):
        y, past = super().forward(x, past)
        return y, torch.zeros_like(past)


class Inexact(Difference):
    """Correct output; its state holds a number that depends on the split."""

    def forward(self, x, past=None):
        y, frame = super().forward(x, None if past is None else past["frame"])
        return y, {"frame": frame, "length": x.new_full((1,), x.shape[2])}


class Growing(Stateful):
    """The sum of all frames so far, from all frames so far."""

    def forward(self, x, past=None):
        line = x if past is None else torch.cat([past, x], 2)
        return line.cumsum(2)[..., -x.shape[2] :], line


class TimeMean(Difference):
    """Subtracts the mean over the frames of one call, as an instance norm does."""

    def forward(self, x, past=None):
        y, past = super().forward(x, past)
        return y - y.mean(2, keepdim=True), past


class LookAhead(Stateful):
    """Uses the next frame where there is one."""

    def forward(self, x, past=None):
        return x + torch.cat([x[..., 1:], torch.zeros_like(x[..., :1])], 2), x.new_zeros(1)


class FromOne(Difference):
    """Starts from a state of ones."""

    def forward(self, x, past=None):
        return super().forward(x, x.new_ones(*x.shape[:2], 1) if past is None else past)


class InPlace(Difference):
    """Overwrites the state that was passed in."""

    def forward(self, x, past=None):
        y, after = super().forward(x, past)
        return y, after.clone() if past is None else past.copy_(after)


class BatchLast(Difference):
    """Keeps the batch in the last axis of its state."""

    def forward(self, x, past=None):
        y, past = super().forward(x, None if past is None else past.movedim(-1, 0))
        return y, past.movedim(0, -1)


class BandsFirst(Difference):
    """Keeps the first axis of its state in the order of the channels, not of the batch."""

    def forward(self, x, past=None):
        items, channels = x.shape[:2]
        if past is not None:
            past = past.view(channels, items, 1).transpose(0, 1)
        y, past = super().forward(x, past)
        return y, past.transpose(0, 1).flatten(0, 1)


CHEATS = {
    HiddenMemory: contract.check_independence,
    Forgetful: contract.check_split,
    Inexact: contract.check_split,
    Growing: contract.check_split,
    TimeMean: contract.check_split,
    LookAhead: contract.check_future,
    FromOne: contract.check_beginning,
    InPlace: contract.check_independence,
    BatchLast: contract.check_batch,
    BandsFirst: contract.check_batch,
}


@pytest.fixture
def x():
    torch.manual_seed(0)
    return torch.randn(2, 3, 23, dtype=torch.float64)


def test_contract_passes_an_honest_layer(x):
    contract.verify_stream(Difference(), x, dim=2)


@pytest.mark.parametrize("cheat", CHEATS, ids=lambda cheat: cheat.__name__)
def test_contract_catches_every_cheat(cheat, x):
    with pytest.raises(AssertionError):
        contract.verify_stream(cheat(), x, dim=2)


@pytest.mark.parametrize("cheat", CHEATS, ids=lambda cheat: cheat.__name__)
def test_contract_check_catches_its_cheat_alone(cheat, x):
    case = contract.Case(cheat(), x, 2, 1, 2)
    with pytest.raises(AssertionError):
        CHEATS[cheat](case)


def test_contract_hidden_state_needs_a_second_stream(x):
    case = contract.Case(HiddenMemory(), x, 2, 1, 2)
    for check in set(contract.CHECKS) - {contract.check_independence, contract.check_batch}:
        check(case)


def test_flatten_state_and_back():
    a = torch.zeros(1)
    b = torch.ones(2)
    c = torch.ones(3)
    tree = {"encoder": {"dense": {"layer0": a, "layer1": b}}, "tail": c}
    flat = flatten_state(tree)
    assert list(flat) == ["encoder.dense.layer0", "encoder.dense.layer1", "tail"]
    back = unflatten_state(flat)
    assert back["encoder"]["dense"]["layer1"] is b and back["tail"] is c
    assert list(flatten_state(back)) == list(flat)


@pytest.mark.parametrize("kept", [1, 2, 5])
@pytest.mark.parametrize("steps", [1, 2, 3, 5, 8])
def test_delay_equals_splitting_the_line(steps, kept):
    x = torch.randn(2, steps, 3)
    past = torch.randn(2, kept, 3)
    line = torch.cat([past, x], 1)
    due, waiting = delay(x, past, 1)
    assert torch.equal(due, line[:, :steps]) and torch.equal(waiting, line[:, steps:])

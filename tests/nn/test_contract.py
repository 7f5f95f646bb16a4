"""The laws of streaming: an honest layer passes, every cheat is refused by the law, the layer and
the cure, and a law that is left out is noticed."""

import pytest

torch = pytest.importorskip("torch")

import cheating_mixers
from own_layers import Leaky
from small_networks import STREAMING, streaming

from qse.networks import StreamingConfig, StreamingEnhancer, TwoGrids
from qse.nn import contract
from qse.nn.contract import LAWS, LawBroken, verify_briefly, verify_stream
from qse.nn.state import Stateful


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


class Attribute(Difference):
    """Stores its past in an attribute, and returns nothing."""

    past = None

    def forward(self, x, past=None):
        fits = self.past is not None and len(self.past) == len(x)
        y, self.past = super().forward(x, self.past if fits else None)
        return y, {}


class Limiter(Difference):
    """Makes a call softer in which anything is loud."""

    def forward(self, x, past=None):
        y, past = super().forward(x, past)
        return y * (0.5 if x.abs().max() > 20 else 1), past


class OwnType(Difference):
    """Begins with zeros of one type, whatever that of the input is."""

    def forward(self, x, past=None):
        if past is None:
            past = torch.zeros(*x.shape[:2], 1, dtype=torch.float64, device=x.device)
        return super().forward(x, past)


class OwnDevice(Difference):
    """Begins with zeros on the processor, wherever the input is."""

    def forward(self, x, past=None):
        if past is None:
            past = torch.zeros(*x.shape[:2], 1, dtype=x.dtype)
        return super().forward(x, past)


class Detached(Difference):
    """Lets no gradient pass from one call to the one before."""

    def forward(self, x, past=None):
        y, past = super().forward(x, past)
        return y, past.detach()


CHEATS = {
    HiddenMemory: "state is a value",
    InPlace: "state is a value",
    Attribute: "state is a value",
    FromOne: "zero state",
    Forgetful: "split",
    Inexact: "split",
    Growing: "split",
    TimeMean: "split",
    LookAhead: "split",
    BatchLast: "batch first",
    BandsFirst: "batch first",
    Limiter: "length",
    OwnType: "dtype",
    OwnDevice: "device",
    Detached: "gradients",
}


@pytest.fixture
def x():
    torch.manual_seed(0)
    return torch.randn(2, 3, 23, dtype=torch.float64)


def test_an_honest_layer_passes(x):
    verify_stream(Difference(), x, dim=2)


@pytest.mark.parametrize("cheat", CHEATS, ids=lambda cheat: cheat.__name__)
def test_every_cheat_is_refused_by_its_law(cheat, x):
    with pytest.raises(LawBroken) as refused:
        verify_stream(cheat(), x, dim=2)
    law = CHEATS[cheat]
    assert refused.value.law == law
    assert str(refused.value).startswith(f"{cheat.__name__} breaks the law {law!r} of streaming: ")
    assert str(refused.value).endswith(f"; {LAWS[law].cure}")


@pytest.mark.parametrize("law", LAWS)
def test_no_law_stands_for_another(law, x, monkeypatch):
    """Leave out one check: its cheats pass, or are refused by the name of another law."""
    monkeypatch.delitem(LAWS, law)
    found = []
    for cheat in [cheat for cheat, own in CHEATS.items() if own == law]:
        try:
            verify_stream(cheat(), x, dim=2)
        except LawBroken as refused:
            found.append(refused.law)
        else:
            found.append("")
    assert found and law not in found


def with_mixer(kind: type) -> StreamingEnhancer:
    """Return a fresh network in which `kind` is the time mixer."""
    torch.manual_seed(0)
    return StreamingEnhancer(StreamingConfig(**STREAMING, time_mixer=(cheating_mixers.name(kind),)))


@pytest.mark.parametrize("cheat", cheating_mixers.CHEATS, ids=lambda cheat: cheat.__name__)
def test_the_brief_form_names_law_and_layer(cheat):
    law = cheating_mixers.CHEATS[cheat]
    with pytest.raises(LawBroken, match=cheating_mixers.refusal(cheat, law)) as refused:
        verify_briefly(with_mixer(cheat), 32)
    assert refused.value.law == law and refused.value.path == "bottleneck.blocks.block0.time"
    assert str(refused.value).endswith(LAWS[law].cure)


@pytest.mark.parametrize("cheat", cheating_mixers.CHEATS, ids=lambda cheat: cheat.__name__)
def test_the_brief_form_needs_each_of_its_laws(cheat, monkeypatch):
    law = cheating_mixers.CHEATS[cheat]
    left = tuple(name for name in contract.LAWS_IN_BRIEF if name != law)
    monkeypatch.setattr(contract, "LAWS_IN_BRIEF", left)
    try:
        verify_briefly(with_mixer(cheat), 32)
    except LawBroken as refused:
        assert refused.law != law


def test_the_brief_form_sees_behind_weights_that_are_zero():
    network = with_mixer(cheating_mixers.SegmentMean)
    network.bottleneck.blocks["block0"].make_identity_("time")
    with pytest.raises(LawBroken, match="'split'"):
        verify_briefly(network, 32)


@pytest.mark.parametrize(
    "network",
    [
        lambda: streaming(),
        lambda: streaming(look_ahead=4, look_ahead_blocks=(0,)),
        lambda: with_mixer(Leaky),
        lambda: TwoGrids(streaming()),
    ],
    ids=["streaming", "look-ahead", "own", "two grids"],
)
def test_the_brief_form_passes_honest_networks_as_they_are(network):
    """It changes neither weights nor mode of the network, nor PyTorch's random numbers."""
    network = network().train()
    weights = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    random = torch.get_rng_state()
    verify_briefly(network, network.config.hop_length)
    assert torch.equal(torch.get_rng_state(), random) and network.training
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, weights[name]), name


class SingleOnly(Difference):
    """Computes in float32 alone, as a kernel of one's own may."""

    def __init__(self, wrong: float = 0.0):
        super().__init__()
        self.wrong = wrong
        self.weight = torch.nn.Parameter(torch.ones(1))

    def forward(self, x, past=None):
        if x.dtype != torch.float32:
            raise RuntimeError("float32 only")
        past = x.new_full((len(x), 1), self.wrong) if past is None else past
        line = torch.cat([past, x], 1)
        return line[:, 1:] - line[:, :-1], line[:, -1:]


def test_the_brief_form_checks_a_network_of_float32_alone():
    verify_briefly(SingleOnly(), 8)
    with pytest.raises(LawBroken, match="SingleOnly breaks the law 'zero state'"):
        verify_briefly(SingleOnly(0.1), 8)


def test_an_input_that_is_too_short_is_refused(x):
    with pytest.raises(ValueError, match="8 elements along time: give nine whole steps"):
        verify_stream(Difference(), x[..., :8], dim=2)

"""Time mixers that each break one law of streaming, and which."""

from own_layers import Leaky


class FromOne(Leaky):
    """Begins with a state of ones."""

    def forward(self, x, state=None):
        ones = x.new_ones(x.shape[0], *x.shape[2:])
        return super().forward(x, ones if state is None else state)


class BatchSecond(Leaky):
    """Has the batch in the second axis of its state."""

    def forward(self, x, state=None):
        y, after = super().forward(x, None if state is None else state.transpose(0, 1))
        return y, after.transpose(0, 1)


class InSelf(Leaky):
    """Keeps its state in an attribute."""

    kept = None

    def forward(self, x, state=None):
        fits = self.kept is not None and len(self.kept) == len(x)
        y, after = super().forward(x, self.kept if fits else None)
        self.kept = after.detach()
        return y, {}


class SegmentMean(Leaky):
    """Subtracts the mean over the frames of a call."""

    def forward(self, x, state=None):
        y, after = super().forward(x, state)
        return y - y.mean(1, keepdim=True), after


CHEATS = {
    FromOne: "zero state",
    BatchSecond: "batch first",
    InSelf: "state is a value",
    SegmentMean: "split",
}


def refusal(cheat: type, law: str) -> str:
    """Return a pattern of how a network with `cheat` as its time mixer is refused."""
    layer = rf"layer bottleneck\.blocks\.block0\.time \({cheat.__name__}\)"
    return f"{layer} breaks the law '{law}' of streaming: .*; "


def name(cheat: type) -> str:
    """Return the name of a cheat in a configuration."""
    return f"{cheat.__module__}:{cheat.__name__}"

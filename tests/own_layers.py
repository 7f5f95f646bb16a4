"""Layers, time mixers and networks as somebody outside of the package writes them."""

from dataclasses import dataclass

import torch
from torch import nn

from qse.networks.network import StreamingNetwork
from qse.nn.conv import CausalConv2d
from qse.nn.declared import FEATURES, TOKENS
from qse.nn.features import QuaternionFeatures
from qse.nn.layout import to_features, to_tokens
from qse.nn.linear import QuaternionLinear
from qse.nn.mask import MagnitudePhaseMask
from qse.nn.quaternion import real_matrix
from qse.nn.real_head import RealHead
from qse.nn.stft import Analysis, Synthesis
from qse.nn.time_mixer import TimeMixer


class Leaky(TimeMixer):
    """Leaky integrator: h' = d h + x (x) W, with a decay per real component.

    State: h, (N, 4, C).
    """

    def __init__(self, channels: int):
        super().__init__()
        self.into = QuaternionLinear(channels, channels)
        self.decay = nn.Parameter(torch.rand(4, channels))

    def forward(self, x, state=None):
        h = x.new_zeros(x.shape[0], *x.shape[2:]) if state is None else state
        frames = []
        for frame in self.into(x).unbind(1):
            h = self.decay.sigmoid() * h + frame
            frames.append(h)
        return torch.stack(frames, 1), h


class Ahead(TimeMixer):
    """Add the frame that is two frames later. State: the last two frames."""

    def __init__(self, channels: int):
        super().__init__()
        self.look_ahead = 2
        self.later = QuaternionLinear(channels, channels)

    def forward(self, x, past=None):
        if past is None:
            past = x.new_zeros(x.shape[0], 2, *x.shape[2:])
        frames = x.shape[1]
        x = torch.cat([past, x], 1)
        return x[:, :frames] + self.later(x[:, 2:]), x[:, frames:]


class MyLinear(QuaternionLinear):
    """A linear layer by subclass alone."""


class Doubled(QuaternionLinear):
    """A linear layer that computes something else."""

    def forward(self, x):
        return 2 * super().forward(x)


class Undeclared(nn.Module):
    """A layer with quaternion weights that says nothing of its axis."""

    quaternion_weights = ("weight",)

    def __init__(self, channels: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, channels, channels))

    def forward(self, x):
        return nn.functional.linear(x.flatten(-2), real_matrix(self.weight)).unflatten(-1, (4, -1))


class Declared(Undeclared):
    quaternion_axis = TOKENS


class Flip(nn.Module):
    """A layer without weights that works on quaternions only: it conjugates tokens."""

    def forward(self, x):
        r, i, j, k = x.unbind(-2)
        return torch.stack([r, -i, -j, -k], -2)


class Conjugate(nn.Module):
    quaternion_axis = FEATURES

    def forward(self, x):
        r, i, j, k = x.unbind(1)
        return torch.stack([r, -i, -j, -k], 1)


@dataclass(frozen=True)
class SmallConfig:
    sample_rate: int = 16000
    n_fft: int = 64
    hop_length: int = 32
    channels: int = 4
    layer: str = "declared"


LAYERS = {
    "subclass": lambda c: MyLinear(c, c),
    "doubled": lambda c: Doubled(c, c),
    "declared": Declared,
    "undeclared": Undeclared,
    "flip": lambda c: Flip(),
}


class Small(StreamingNetwork):
    """A causal convolution over three frames, a layer by name, a mixer that looks ahead, and a
    mask."""

    config_type = SmallConfig

    def __init__(self, config: SmallConfig):
        super().__init__()
        self.config = config
        self.analysis = Analysis(config.n_fft, config.hop_length)
        self.features = QuaternionFeatures()
        self.conv = CausalConv2d(1, config.channels, (3, 3))
        self.conjugate = Conjugate()
        self.layer = LAYERS[config.layer](config.channels)
        self.time = Leaky(config.channels)
        self.head = RealHead(config.channels, 3, (1, 3))
        self.mask = MagnitudePhaseMask()
        self.synthesis = Synthesis(config.n_fft, config.hop_length)

    def forward(self, audio, state=None):
        state = state or {}
        after = {}
        spec, after["analysis"] = self.analysis(audio, state.get("analysis"))
        x, after["conv"] = self.conv(self.features(spec), state.get("conv"))
        x = self.layer(to_tokens(self.conjugate(x)))  # B, T, F, 4, C
        y, after["time"] = self.time(x.transpose(1, 2).flatten(0, 1), state.get("time"))
        y = y.unflatten(0, (x.shape[0], -1)).transpose(1, 2)
        o = self.head(to_features(x + y))
        enhanced, after["synthesis"] = self.synthesis(self.mask(spec, o), state.get("synthesis"))
        return enhanced, after


class NoBase(nn.Module):
    """No network at all."""


class NoConfig(StreamingNetwork):
    """A network that does not say what it is built from."""

    def forward(self, audio, state=None):
        return audio, {}

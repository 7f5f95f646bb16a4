"""Build the streaming networks: waveform in, waveform out, hop by hop or all at once.

    audio -> Analysis -> QuaternionFeatures -> encoder -> bottleneck -> decoder -> mask -> Synthesis -> audio

The encoder's first layer splits the spectrum into bands, each of `ranges` with its own kernel: narrow bands at low
frequencies, wide ones above. The decoder's last layer merges the bands to single bins.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor, nn

from ..config import require_positive
from ..nn.band_split import BandMerge, BandSplit, ranges_below
from ..nn.conv import FrequencyUpsample
from ..nn.features import QuaternionFeatures
from ..nn.layout import join
from ..nn.look_ahead import Delay, LookAhead
from ..nn.mask import MagnitudePhaseMask
from ..nn.real_head import RealHead
from ..nn.state import Stateful
from ..nn.stft import Analysis, Synthesis
from .algebra import convert_
from .bottleneck import BRANCHES, Bottleneck, DualPathBlock
from .dense_block import CausalUnit, ConvUnit, DenseBlock
from .network import StreamingNetwork
from .time_mixers import find_band_attention, find_time_mixer

REFERENCE_RATE = 16000  # Hz: at other rates the features are scaled to the magnitudes of this one


@dataclass(frozen=True)
class StreamingConfig:
    """Sizes of a `StreamingEnhancer`. Channels are counted in quaternions; a quaternion is four real channels."""

    sample_rate: int = 16000
    n_fft: int = 512
    hop_length: int = 160
    overlap: int = 0  # of synthesis windows, in samples, added to the hop in the latency; 0: a whole hop
    ranges: tuple[tuple[int, int], ...] = ((96, 2), (160, 5))  # (bins, bins per band), from low to high
    power: float = 0.3
    channels: tuple[int, int, int] = (8, 12, 16)
    growth: int = 4
    dilations: tuple[int, ...] = (1, 2, 4)
    blocks: int = 2
    heads: int = 4
    attention: str = "shared"  # across bands; or hamilton, or none
    qk_norm: bool = False
    time_mixer: tuple[str, ...] = ("gru",)  # of all blocks, or of each: in TIME_MIXERS, or package.module:Class
    pruned: tuple[str, ...] = ()  # branches to leave out: "block1.attention", "block2.time", "block2.feed"
    window: int = 100  # frames that attention over time, or the token, looks back over
    look_ahead: int = 0  # frames
    look_ahead_blocks: tuple[int, ...] = (2,)  # in front of which layers look ahead, each an equal part of the frames
    algebra: str = "quaternion"  # or real, or phm
    phm_n: int = 4

    def __post_init__(self) -> None:
        require_positive(
            self, "sample_rate", "n_fft", "hop_length", "ranges", "channels", "growth", "dilations", "heads", "window"
        )
        if len(self.channels) != 3 or self.channels[0] < 2:
            raise ValueError(f"channels {self.channels}: three numbers, the first of them 2 or more")
        if not 0 < self.power <= 1:
            raise ValueError(f"power {self.power}: above 0 and at most 1")
        if self.blocks < 0:
            raise ValueError(f"blocks {self.blocks}: 0 or more")
        if self.n_fft % 2:
            raise ValueError(f"n_fft {self.n_fft}: an even number")
        if sum(bins for bins, _ in self.ranges) != self.n_fft // 2:
            raise ValueError(f"ranges must cover the {self.n_fft // 2} bins of n_fft {self.n_fft}, got {self.ranges}")
        if any(bins % (4 * width) for bins, width in self.ranges):
            raise ValueError(f"the bins of a range must be a multiple of 4 times its bins per band, got {self.ranges}")
        if len(self.time_mixer) not in (1, self.blocks):
            raise ValueError(f"time_mixer {list(self.time_mixer)}: a list of one, or one per block")
        for name in self.time_mixer:
            find_time_mixer(name)
        find_band_attention(self.attention)
        if self.look_ahead < 0:
            raise ValueError(f"look_ahead {self.look_ahead}: 0 frames or more")
        if self.look_ahead and not set(range(self.blocks)) >= set(self.look_ahead_blocks):
            raise ValueError(
                f"look_ahead_blocks {list(self.look_ahead_blocks)}: there are blocks 0 to {self.blocks - 1}"
            )
        branches = [f"block{n}.{branch}" for n in range(self.blocks) for branch in BRANCHES]
        if unknown := set(self.pruned) - set(branches):
            raise ValueError(f"pruned {min(unknown)!r}: choose from {', '.join(branches)}")

    def look_ahead_of_blocks(self) -> dict[int, int]:
        """Return the look-ahead in frames of the layer before each of `look_ahead_blocks`; later ones have more."""
        layers = len(self.look_ahead_blocks)
        return {block: (self.look_ahead + n) // layers for n, block in enumerate(self.look_ahead_blocks)}

    def at(self, sample_rate: int, look_ahead: int | None = None) -> "StreamingConfig":
        """Return the same windows in seconds at a lower sample rate, without the bands above half of it.

        look_ahead: frames, at most those of this configuration; None: as many.
        Raises ValueError for a higher rate or look-ahead, and where windows or bands are no whole numbers.
        """
        if look_ahead is None:
            look_ahead = self.look_ahead
        if not 0 <= look_ahead <= self.look_ahead:
            raise ValueError(f"look_ahead {look_ahead}: the network looks at most {self.look_ahead} frames ahead")
        sizes = {name: getattr(self, name) * sample_rate for name in ("n_fft", "hop_length", "overlap")}
        if sample_rate > self.sample_rate or any(size % self.sample_rate for size in sizes.values()):
            raise ValueError(f"sample_rate {sample_rate}: not a rate of a network for {self.sample_rate} Hz")
        sizes = {name: size // self.sample_rate for name, size in sizes.items()}
        ranges = ranges_below(self.ranges, sizes["n_fft"] // 2)
        return replace(self, sample_rate=sample_rate, look_ahead=look_ahead, ranges=ranges, **sizes)


class Fuse(ConvUnit):
    """Combine features and a skip, both (B, 4, C, T, F), bin by bin: -> (B, 4, C, T, F)."""

    def __init__(self, channels: int):
        super().__init__(2 * channels, channels, (1, 1))

    def forward(self, x: Tensor, skip: Tensor) -> Tensor:  # type: ignore[override]
        return super().forward(join([x, skip], -3))


class Encoder(Stateful):
    """Encode (B, 4, 1, T, F) to features of bands, bands / 2 and bands / 4; the first two are the decoder's skips."""

    def __init__(self, config: StreamingConfig):
        super().__init__()
        c0, c1, c2 = config.channels
        self.split = BandSplit(c0, config.ranges)
        self.dense = DenseBlock(c0, config.growth, config.dilations)
        self.down1 = ConvUnit(c0, c1, (1, 3), stride=2)
        self.down2 = CausalUnit(c1, c2, (2, 3), stride=2)

    def forward(self, x: Tensor, state: dict | None = None) -> tuple[tuple[Tensor, Tensor, Tensor], dict]:
        state = state or {}
        x0, dense = self.dense(self.split(x), state.get("dense"))
        x1 = self.down1(x0)
        x2, down2 = self.down2(x1, state.get("down2"))
        return (x0, x1, x2), {"dense": dense, "down2": down2}


class Decoder(Stateful):
    """Decode the encoder's features to (B, 3, T, F), the real numbers of the mask."""

    def __init__(self, config: StreamingConfig):
        super().__init__()
        c0, c1, c2 = config.channels
        self.up2, self.fuse1 = FrequencyUpsample(c2, c1), Fuse(c1)
        self.up1, self.fuse0 = FrequencyUpsample(c1, c0), Fuse(c0)
        self.dense = DenseBlock(c0, config.growth, config.dilations[::-1])
        self.join = BandMerge(c0, c0 // 2, config.ranges)
        self.head = RealHead(c0 // 2, 3, (1, 3))
        nn.init.normal_(self.head.weight, std=0.01)
        nn.init.zeros_(self.head.get_parameter("bias"))

    def forward(self, x: tuple[Tensor, Tensor, Tensor], state: dict | None = None) -> tuple[Tensor, dict]:
        x0, x1, x2 = x
        y = self.fuse1(self.up2(x2), x1)
        y = self.fuse0(self.up1(y), x0)
        y, dense = self.dense(y, (state or {}).get("dense"))
        return self.head(self.join(y)), {"dense": dense}


class StreamingEnhancer(StreamingNetwork):
    """Enhance (B, T * hop_length) samples -> (B, T * hop_length) samples, `latency` samples later.

    One set of weights serves every sample rate with the same bin spacing in Hz and hop in seconds: see `at`.
    """

    config_type = StreamingConfig

    def __init__(self, config: StreamingConfig):
        super().__init__()
        self.config = config
        self.encoder = Encoder(config)
        self.bottleneck = Bottleneck(_blocks(config), _look_ahead(config))
        self.decoder = Decoder(config)
        self.mask = MagnitudePhaseMask()
        self._set(config)
        convert_(self, config.algebra, config.phm_n)

    def _set(self, config: StreamingConfig) -> None:
        """Build the parts without weights, which depend on sample rate and look-ahead."""
        self.config = config
        self.analysis = Analysis(config.n_fft, config.hop_length, config.overlap)
        self.features = QuaternionFeatures(config.power, config.n_fft // 2, REFERENCE_RATE / config.sample_rate)
        self.synthesis = Synthesis(config.n_fft, config.hop_length, config.overlap)
        ahead = self.bottleneck.look_ahead
        waiting = ("spec", "skip0", "skip1") if ahead else ()
        self.delays = nn.ModuleDict({name: Delay(ahead) for name in waiting})

    def at(self, sample_rate: int, look_ahead: int | None = None) -> "StreamingEnhancer":
        """Return this network at a lower sample rate, or with less look-ahead: the same weights, shared.

        Bands above half the sample rate are left out, and so are taps beyond the look-ahead; look_ahead: frames, None:
        those of this network. The state of one does not fit another. Raises ValueError as `StreamingConfig.at` does.
        """
        config = self.config.at(sample_rate, look_ahead)
        if config == self.config:
            return self
        bins = config.n_fft // 2
        network = _with_parts(
            self,
            encoder=_with_parts(self.encoder, split=self.encoder.split.below(bins)),
            bottleneck=self.bottleneck.at(config.look_ahead_of_blocks()),
            decoder=_with_parts(self.decoder, join=self.decoder.join.below(bins)),
        )
        network._set(config)
        return network

    def forward(self, audio: Tensor, state: dict | None = None) -> tuple[Tensor, dict]:
        state, after = state or {}, {}
        spec, after["analysis"] = self.analysis(audio, state.get("analysis"))  # B, 2, T, F + 1
        x = self.features(spec)  # B, 4, 1, T, F
        (x0, x1, x2), after["encoder"] = self.encoder(x, state.get("encoder"))
        x2, after["bottleneck"] = self.bottleneck(x2, state.get("bottleneck"))
        if self.delays:  # until the bottleneck puts out the same frame
            waiting = {"spec": spec, "skip0": x0, "skip1": x1}
            (spec, x0, x1), after["delays"] = self._delayed(waiting, state.get("delays"))
        o, after["decoder"] = self.decoder((x0, x1, x2), state.get("decoder"))  # B, 3, T, F
        enhanced, after["synthesis"] = self.synthesis(self.mask(spec, o), state.get("synthesis"))
        return enhanced, after

    def _delayed(self, signals: dict[str, Tensor], state: dict | None) -> tuple[list[Tensor], dict]:
        delayed, after = [], {}
        for name, signal in signals.items():
            signal, after[name] = self.delays[name](signal, (state or {}).get(name))
            delayed.append(signal)
        return delayed, after


def _with_parts(module: Any, **parts: nn.Module) -> Any:
    """Return a copy of `module` that shares all weights and has `parts` in the place of its own children."""
    module = copy.copy(module)
    module._modules = {**module._modules, **parts}
    return module


def _blocks(config: StreamingConfig) -> Iterator[DualPathBlock]:
    for n in range(config.blocks):
        yield DualPathBlock(
            sum(bins // width for bins, width in config.ranges) // 4,
            config.channels[2],
            config.heads,
            qk_norm=config.qk_norm,
            time_mixer=config.time_mixer[n % len(config.time_mixer)],
            window=config.window,
            attention=config.attention,
            pruned=[branch for branch in BRANCHES if f"block{n}.{branch}" in config.pruned],
        )


def _look_ahead(config: StreamingConfig) -> dict[int, LookAhead]:
    channels = config.channels[2]
    frames = config.look_ahead_of_blocks()
    return {block: LookAhead(channels, ahead) for block, ahead in frames.items() if ahead}

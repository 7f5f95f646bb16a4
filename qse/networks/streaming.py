"""Build the streaming networks: waveform in, waveform out, hop by hop or all at once.

    audio -> Analysis -> QuaternionFeatures -> encoder -> bottleneck -> decoder -> mask
    -> Synthesis -> audio

InputLevel brings the features, and nothing else, of very soft or loud signals to a usual level: the
mask multiplies the spectrum as it is.

The encoder's first layer splits the spectrum into bands, each of `ranges` with its own kernel:
narrow bands at low frequencies, wide ones above. The decoder's last layer merges the bands to
single bins.
"""

import copy
from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from ..nn.band_split import BandMerge, BandSplit, bands_of
from ..nn.conv import FrequencyUpsample
from ..nn.delay import Delay
from ..nn.features import QuaternionFeatures
from ..nn.input_level import InputLevel
from ..nn.layout import join
from ..nn.look_ahead import LookAhead
from ..nn.mask import MagnitudePhaseMask
from ..nn.real_head import RealHead
from ..nn.state import Stateful
from ..nn.stft import Analysis, Synthesis
from ..nn.talker import TalkerCode
from .algebra import convert_
from .bottleneck import BRANCHES, Bottleneck, DualPathBlock
from .dense_block import CausalUnit, ConvUnit, DenseBlock
from .network import StreamingNetwork
from .streaming_config import StreamingConfig

REFERENCE_RATE = 16000  # Hz: at other rates the features are scaled to the magnitudes of this one


class Fuse(ConvUnit):
    """Combine features and a skip, both (B, 4, C, T, F), bin by bin: -> (B, 4, C, T, F)."""

    def __init__(self, channels: int):
        super().__init__(2 * channels, channels, (1, 1))

    def forward(self, x: Tensor, skip: Tensor) -> Tensor:  # type: ignore[override]
        return super().forward(join([x, skip], -3))


class Encoder(Stateful):
    """Encode (B, 4, 1, T, F) to features of bands, bands / 2 and bands / 4; the first two are the
    decoder's skips."""

    def __init__(self, config: StreamingConfig):
        super().__init__()
        c0, c1, c2 = config.channels
        self.split = BandSplit(c0, config.ranges)
        self.dense = DenseBlock(c0, config.growth, config.dilations)
        self.down1 = ConvUnit(c0, c1, (1, 3), stride=2)
        self.down2 = CausalUnit(c1, c2, (2, 3), stride=2)

    def forward(
        self, x: Tensor, state: dict | None = None
    ) -> tuple[tuple[Tensor, Tensor, Tensor], dict]:
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
        self.up2 = FrequencyUpsample(c2, c1)
        self.fuse1 = Fuse(c1)
        self.up1 = FrequencyUpsample(c1, c0)
        self.fuse0 = Fuse(c0)
        self.dense = DenseBlock(c0, config.growth, config.dilations[::-1])
        self.join = BandMerge(c0, c0 // 2, config.ranges)
        self.head = RealHead(c0 // 2, 3, (1, 3))
        nn.init.normal_(self.head.weight, std=0.01)
        nn.init.zeros_(self.head.get_parameter("bias"))

    def forward(
        self, x: tuple[Tensor, Tensor, Tensor], state: dict | None = None
    ) -> tuple[Tensor, dict]:
        x0, x1, x2 = x
        y = self.fuse1(self.up2(x2), x1)
        y = self.fuse0(self.up1(y), x0)
        y, dense = self.dense(y, (state or {}).get("dense"))
        return self.head(self.join(y)), {"dense": dense}


class StreamingEnhancer(StreamingNetwork):
    """Enhance (B, T * hop_length) samples -> (B, T * hop_length) samples, `latency` samples later.

    One set of weights serves every sample rate with the same bin spacing in Hz and hop in seconds:
    see `at`.
    """

    config_type = StreamingConfig

    def __init__(self, config: StreamingConfig):
        super().__init__()
        self.config = config
        self.encoder = Encoder(config)
        self.bottleneck = Bottleneck(_blocks(config), _look_ahead(config))
        self.decoder = Decoder(config)
        if config.talker:
            channels = {name: config.channels[2] for name, _ in self.bottleneck.adaptive()}
            shared = config.at(min(REFERENCE_RATE, config.sample_rate))
            self.talker = TalkerCode(channels, _bands(shared))
        self.mask = MagnitudePhaseMask()
        self._made: dict[tuple, StreamingEnhancer] = {}  # see `at`
        self._set(config)
        convert_(self, config.algebra, config.phm_n)

    def _set(self, config: StreamingConfig) -> None:
        """Build the parts without weights, which depend on sample rate and look-ahead."""
        self.config = config
        self.level = InputLevel(config.sample_rate, config.n_fft, config.hop_length)
        self.analysis = Analysis(config.n_fft, config.hop_length, config.overlap)
        self.features = QuaternionFeatures(
            config.power, config.n_fft // 2, REFERENCE_RATE / config.sample_rate
        )
        self.synthesis = Synthesis(config.n_fft, config.hop_length, config.overlap)
        ahead = self.bottleneck.look_ahead
        waiting = ("spec", "skip0", "skip1") if ahead else ()
        self.delays = nn.ModuleDict({name: Delay(ahead) for name in waiting})

    @property
    def bands(self) -> int:
        """Return the bands of a frame in the bottleneck."""
        return _bands(self.config)

    def at(self, sample_rate: int, look_ahead: int | None = None) -> "StreamingEnhancer":
        """Return this network at a lower sample rate, or with less look-ahead: the same weights,
        shared, on their device. It is made once and kept.

        Bands above half the sample rate are left out, and so are taps beyond the look-ahead;
        look_ahead: frames, None: those of this network. The state of one does not fit another.
        Raises ValueError as `StreamingConfig.at` does.
        """
        config = self.config.at(sample_rate, look_ahead)
        if config == self.config:
            return self
        weight = next(self.parameters())
        key = (config, weight.device, weight.dtype)
        if key not in self._made:
            self._made[key] = self._with(config).to(weight.device, weight.dtype)
        return self._made[key].train(self.training)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy has: the weights, and no networks that share them."""
        return {**self.__dict__, "_made": {}}

    def _with(self, config: StreamingConfig) -> "StreamingEnhancer":
        bins = config.n_fft // 2
        network = _with_parts(
            self,
            encoder=_with_parts(self.encoder, split=self.encoder.split.below(bins)),
            bottleneck=self.bottleneck.at(_bands(config), config.look_ahead_of_blocks()),
            decoder=_with_parts(self.decoder, join=self.decoder.join.below(bins)),
        )
        network._set(config)
        return network

    def forward(self, audio: Tensor, state: dict | None = None) -> tuple[Tensor, dict]:
        state = state or {}
        (spec, x0, x1, x2), after = self.encoded(audio, state)
        if self.delays:  # until the bottleneck puts out the same frame
            waiting = {"spec": spec, "skip0": x0, "skip1": x1}
            (spec, x0, x1), after["delays"] = self._delayed(waiting, state.get("delays"))
        o, after["decoder"] = self.decoder((x0, x1, x2), state.get("decoder"))  # B, 3, T, F
        enhanced, after["synthesis"] = self.synthesis(self.mask(spec, o), state.get("synthesis"))
        return enhanced, after

    def encoded(self, audio: Tensor, state: dict) -> tuple[tuple[Tensor, ...], dict]:
        """Return what the decoder and the mask need of `audio`: (spectrum (B, 2, T, F + 1), the
        two skips, the bottleneck's features), and the states of the parts that have run."""
        after = {}
        gain, after["level"] = self.level(audio, state.get("level"))  # B, T
        spec, after["analysis"] = self.analysis(audio, state.get("analysis"))
        x = self.features(spec, gain)  # B, 4, 1, T, F
        (x0, x1, x2), after["encoder"] = self.encoder(x, state.get("encoder"))
        x2, after["bottleneck"] = self.bottleneck(x2, state.get("bottleneck"))
        return (spec, x0, x1, x2), after

    def _delayed(self, signals: dict[str, Tensor], state: dict | None) -> tuple[list[Tensor], dict]:
        delayed = []
        after = {}
        for name, signal in signals.items():
            signal, after[name] = self.delays[name](signal, (state or {}).get(name))
            delayed.append(signal)
        return delayed, after


def _with_parts(module: Any, **parts: nn.Module) -> Any:
    """Return a copy of `module` that shares all weights and has `parts` in the place of its own
    children."""
    module = copy.copy(module)
    module._modules = {**module._modules, **parts}
    return module


def _bands(config: StreamingConfig) -> int:
    """Return the bands of a frame in the bottleneck."""
    return sum(bands_of(config.ranges)) // 4


def _blocks(config: StreamingConfig) -> Iterator[DualPathBlock]:
    for n in range(config.blocks):
        block = DualPathBlock(
            _bands(config),
            config.channels[2],
            config.heads,
            qk_norm=config.qk_norm,
            time_mixer=config.time_mixer[n % len(config.time_mixer)],
            window=config.window,
            attention=config.attention,
            pruned=[branch for branch in BRANCHES if f"block{n}.{branch}" in config.pruned],
        )
        if config.talker:
            block.adapt_()
        yield block


def _look_ahead(config: StreamingConfig) -> dict[int, LookAhead]:
    channels = config.channels[2]
    layers = {}
    for block, frames in config.look_ahead_of_blocks().items():
        if frames:
            layers[block] = LookAhead(channels, frames)
    return layers

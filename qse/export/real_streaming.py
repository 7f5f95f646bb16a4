"""Register real forms of the parts of a streaming network: fewer and larger operators for one frame
at a time."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..networks.bottleneck import DualPathBlock
from ..networks.dense_block import CausalUnit
from ..networks.streaming import Decoder, StreamingEnhancer
from ..nn.band_split import BandMerge, BandSplit
from ..nn.delay import Delay
from ..nn.input_level import InputLevel
from ..nn.state import Stateful, delay
from .fourier import FactoredAnalysis, FactoredSynthesis
from .real_form import adapt, real_form, register, with_children, with_real_children
from .real_layers import real_conv
from .real_spectrum import RealFeatures, RealMask


class RealBandSplit(nn.Module):
    """Split bands as `BandSplit` does: (B, 3, T, N) -> (B, 4 C, T, bands).

    Input: the bins that each kernel covers, range after range, without the real component, which is
    zero.
    """

    def __init__(self, split: BandSplit):
        super().__init__()
        seen, self.padding = split.receptive_fields()
        self.sizes = [last - first for first, last in seen]
        self.act = split.act
        self.convs = nn.ModuleList()
        for quaternion_conv in split.convs:
            conv = real_conv(quaternion_conv, split.norm)
            conv.weight = nn.Parameter(conv.weight[:, 1:].contiguous())
            self.convs.append(conv)

    def forward(self, x: Tensor) -> Tensor:
        bands = []
        parts = x.split(self.sizes, 3)
        for conv, part, padding in zip(self.convs, parts, self.padding, strict=True):
            bands.append(self.act(conv(F.pad(part, padding))))
        return torch.cat(bands, 3)


class DelayedConv(Stateful):
    """Compute `CausalUnit` with two taps in time: convolution, batch norm and activation.

    Both taps are applied to the newest frame; the older tap's result is kept in the state for
    `dilation` frames. The output has fewer channels than the input, so this state is smaller than
    past inputs. State: (B, C', dilation, F').
    """

    def __init__(self, unit: CausalUnit):
        super().__init__()
        conv = unit.conv.conv
        real = real_conv(conv, unit.norm)
        (older, newer) = real.weight.unbind(2)
        bias = real.get_parameter("bias")
        self.dilation = conv.dilation[0]
        self.act = unit.act
        self.taps = nn.Conv2d(
            real.in_channels, 2 * len(newer), (1, real.kernel_size[1]), conv.stride, conv.padding
        )
        self.taps.weight = nn.Parameter(torch.cat([newer, older])[:, :, None])
        self.taps.bias = nn.Parameter(torch.cat([bias, torch.zeros_like(bias)]))

    def forward(self, x: Tensor, past: Tensor | None = None) -> tuple[Tensor, Tensor]:
        newer, older = self.taps(x).chunk(2, 1)
        if past is None:
            past = older.new_zeros(*older.shape[:2], self.dilation, older.shape[3])
        due, past = delay(older, past, dim=2)
        return self.act(newer + due), past


@register(CausalUnit)
def _causal_unit(unit: CausalUnit) -> nn.Module:
    """Use two taps in time where the kernel has two frames; of others keep the convolution, its
    batch norm folded."""
    if unit.conv.kernel[0] == 2:
        return DelayedConv(unit)
    conv = with_children(unit.conv, conv=real_conv(unit.conv.conv, unit.norm))
    return with_children(unit, conv=conv, norm=nn.Identity())


@adapt(BandMerge)
def _band_merge(merge: BandMerge) -> BandMerge:
    """Apply the activation before the bins are reordered, where it fuses with the convolution."""
    for up in merge.ups:
        with_children(up, conv=nn.Sequential(real_conv(up.conv), merge.act))
    return with_children(merge, act=nn.Identity())


class RealInputLevel(InputLevel):
    """Compute `InputLevel` hop by hop, since no operator of ONNX gives a running maximum."""

    def _falling(self, levels: Tensor, before: Tensor, fall: float) -> Tensor:
        step = fall * self.hop_length / self.sample_rate
        largest = []
        for level in levels.split(1, 1):
            before = torch.maximum(level, before - step)
            largest.append(before)
        return torch.cat(largest, 1)


@register(InputLevel)
def _input_level(level: InputLevel) -> RealInputLevel:
    return RealInputLevel(level.sample_rate, level.n_fft, level.hop_length)


@adapt(DualPathBlock)
def _block(block: DualPathBlock) -> DualPathBlock:
    if block.band is not None:
        block.band = nn.Parameter(block.band.mT.flatten(1))  # bands, C
    return with_real_children(block)


@adapt(Decoder)
def _decoder(decoder: Decoder) -> Decoder:
    decoder.head.get_parameter("bias")[1] += 1  # of 1 + o1 + i o2, see RealMask
    return with_real_children(decoder)


@adapt(StreamingEnhancer)
def _enhancer(network: StreamingEnhancer) -> StreamingEnhancer:
    n_fft = network.config.n_fft
    (seen, _) = network.encoder.split.receptive_fields()
    bins: list[int] = []
    for first, last in seen:
        bins.extend(range(first, last))
    network.encoder.add_module("split", RealBandSplit(network.encoder.split))
    synthesis = FactoredSynthesis(network.synthesis)
    synthesis.window *= 2  # of 2 sigmoid(o0), see RealMask
    if network.delays:
        # B, T, R, 2, J, see FactoredAnalysis
        network.delays["spec"] = Delay(network.bottleneck.look_ahead, dim=-4)
    return with_children(
        network,
        level=real_form(network.level),
        analysis=FactoredAnalysis(network.analysis),
        features=RealFeatures(network.features, n_fft, torch.tensor(bins)),
        encoder=real_form(network.encoder),
        bottleneck=real_form(network.bottleneck),
        decoder=real_form(network.decoder),
        mask=RealMask(n_fft, n_fft // 2),
        synthesis=synthesis,
    )

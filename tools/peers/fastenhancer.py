"""Read the published 48 kHz weights of FastEnhancer (Ahn et al., ICASSP 2026) into its own network.

The authors' checkpoints are attachments of their releases. ryyr-ry/fastenhancer-web holds those of
the sizes T, B and S as plain float32 values, batch and weight normalisations folded in, and a copy
of the authors' code, which runs them here.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

SAMPLE_RATE = 48000
N_FFT = 1024
STRIDE = 4  # of the first and the last convolution
HEADER = 20  # bytes before the values
SIZES: dict[str, dict[str, Any]] = {  # configs/fastenhancer_48khz of the authors
    "tiny": {"channels": 24, "layers": 2, "blocks": 2, "block_channels": 20, "freq": 24},
    "base": {"channels": 48, "layers": 2, "blocks": 3, "block_channels": 36, "freq": 36},
    "small": {"channels": 64, "layers": 3, "blocks": 3, "block_channels": 48, "freq": 48},
}


class Values:
    """The values of a file of weights, taken in their order."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = torch.from_numpy(values)
        self.taken = 0

    def take(self, *shape: int) -> Tensor:
        """Return the next values as a tensor of the given shape."""
        count = int(np.prod(shape))
        found = self.values[self.taken : self.taken + count]
        self.taken += count
        return found.reshape(shape)

    def convolution(self, layer: Any, weight: Tensor | None = None) -> None:
        """Fill a convolution with its weight, or the one given, and a factor and bias."""
        if weight is None:
            weight = self.take(*layer.weight.shape)
        (channels, _, _) = weight.shape
        layer.weight.data = weight * self.take(channels, 1, 1)
        layer.bias.data = self.take(channels)

    def linear(self, layer: Any) -> None:
        """Fill a linear layer with its weight, and its bias if it has one."""
        layer.weight.data = self.take(*layer.weight.shape)
        if layer.bias is not None:
            layer.bias.data = self.take(*layer.bias.shape)


def load(checkout: Path, size: str) -> nn.Module:
    """Return the network of a size with its weights: (1, samples) to a tuple of (1, samples) and
    a spec."""
    code = checkout / "_ref_pytorch"
    sys.path[:0] = [str(code), str(code / "models" / "fastenhancer" / "default")]
    from model import Model

    model = Model(**_options(**SIZES[size]))
    model.remove_weight_reparameterizations()  # as the values are
    path = checkout / "demo" / "public" / "assets" / "weights" / f"fe_{size}_48k.bin"
    values = Values(np.fromfile(path, "<f4", offset=HEADER))
    fill(model, values)
    count = len(values.values)
    if values.taken != count:
        raise SystemExit(f"{path}: {count} values, but the network takes {values.taken}")
    return model.eval()


def _options(
    channels: int, layers: int, blocks: int, block_channels: int, freq: int
) -> dict[str, Any]:
    block = {"num_blocks": blocks, "channels": block_channels, "freq": freq, "eps": 1e-5}
    return {
        "channels": channels,
        "kernel_size": [8] + [3] * layers,
        "stride": STRIDE,
        "rnnformer_kwargs": block,
        "pre_post_init": "linear",
        "n_fft": N_FFT,
        "hop_size": N_FFT // 2,
        "win_size": N_FFT,
        "activation": "SiLU",
        "normalize_final_conv": True,
        "weight_norm": True,
    }


@torch.no_grad()
def fill(model: Any, values: Values) -> None:
    """Set all weights of the network."""
    first = model.enc_pre[0]
    (channels, inputs, taps) = first.weight.shape
    weight = values.take(channels, inputs // STRIDE, taps * STRIDE)
    values.convolution(first, strided(weight))
    for layer in model.encoder:
        values.convolution(layer[0])

    values.linear(model.rf_pre[0])
    values.convolution(model.rf_pre[1])
    for block in model.rf_block:
        _fill_block(block, values)
    values.convolution(model.rf_post[1])
    values.linear(model.rf_post[0])

    for layer in model.decoder:
        values.convolution(layer[0])
        values.convolution(layer[2])
    values.convolution(model.dec_post[0])
    values.linear(model.dec_post[2])


def strided(weight: Tensor) -> Tensor:
    """Return the weight (out, in, taps) of a strided convolution as one of stride 1.

    It is (out, STRIDE * in, taps / STRIDE): each of STRIDE neighbours is a channel.
    """
    (out, inputs, _) = weight.shape
    split = weight.reshape(out, inputs, -1, STRIDE)
    return split.permute(0, 3, 1, 2).reshape(out, STRIDE * inputs, -1)


def _fill_block(block: Any, values: Values) -> None:
    size = block.rnn.hidden_size
    gates = {}
    for gate in "zrn":
        of_input = values.take(size, size)
        of_state = values.take(size, size)
        bias = values.take(size)
        state_bias = values.take(size) if gate == "n" else torch.zeros(size)
        gates[gate] = (of_input, of_state, bias, state_bias)
    parameters = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    for number, name in enumerate(parameters):
        getattr(block.rnn, name).data = torch.cat([gates[gate][number] for gate in "rzn"])
    values.linear(block.rnn_fc)
    if block.pe is not None:
        block.pe.data = values.take(*block.pe.shape)

    heads = block.attn.num_heads
    parts = []
    for _ in range(3):  # query, key, value
        parts.append(values.take(heads, size // heads, size))
        values.take(size)  # a bias of zeros, which the network does not have
    block.attn.qkv.weight.data = torch.cat(parts, dim=1).reshape(3 * size, size)
    values.linear(block.attn_fc)

"""Run the published weights of DPCRN (Le et al., Interspeech 2021) in PyTorch, without TensorFlow.

The network and its weights are those of Le-Xiaohuai-speech/DPCRN_DNS3 (`main.py`, `modules.py`),
third place of the second DNS Challenge. Its test.wav gives its enhanced.wav.
"""

import h5py
import numpy as np
import torch
from torch.nn import functional

SAMPLE_RATE = 16000
WIN_LENGTH = 400
HOP_LENGTH = 200
EPSILON = 1e-3  # of Keras' normalisations
WEIGHTS = "pretrain_model/model_DPCRN_SNR+logMSE_causal_sinw.h5"


class DPCRN:
    """The full DPCRN. Waveforms of shape (samples,) in and out, at 16 kHz."""

    def __init__(self, checkout):
        self.weights = {}
        with h5py.File(f"{checkout}/{WEIGHTS}") as file:
            file.visititems(self._read)

        phase = (np.arange(WIN_LENGTH) + 0.5) / WIN_LENGTH * np.pi
        self.window = torch.from_numpy(np.sin(phase).astype(np.float32))

    def _read(self, path, entry):
        if isinstance(entry, h5py.Dataset):
            name = path.split("/", 1)[1].removesuffix(":0")
            self.weights[name] = torch.from_numpy(entry[()])

    @torch.no_grad()
    def enhance(self, noisy):
        """Return the enhanced frames, overlapped and added: as many samples as whole frames."""
        frames = torch.from_numpy(noisy).unfold(0, WIN_LENGTH, HOP_LENGTH) * self.window
        spec = torch.fft.rfft(frames)
        mask = self._mask(torch.stack([spec.real, spec.imag]))

        enhanced = torch.fft.irfft(spec * mask) * self.window
        samples = (len(enhanced) - 1) * HOP_LENGTH + WIN_LENGTH
        added = functional.fold(
            enhanced.T[None], (1, samples), (1, WIN_LENGTH), stride=(1, HOP_LENGTH)
        )
        return added[0, 0, 0].numpy()

    def _mask(self, spec):
        """Return the complex mask (T, 201) of a spec of shape (2, T, 201)."""
        x = self._layer_norm("layer_normalization", spec)[None]
        skips = []
        for number in range(1, 6):
            pad = {1: (0, 2), 2: (0, 1)}.get(number, (1, 1))
            x = functional.pad(x, (*pad, 1, 0))
            stride = (1, 2) if number <= 2 else (1, 1)
            x = functional.conv2d(x, *self._kernel(f"model0_conv_{number}"), stride=stride)
            x = self._activate(x, f"model0_bn_{number}", number - 1)
            skips.append(x)

        x = self._dual_path(x, block="dprnn_block", first=0)
        x = self._dual_path(x, block="dprnn_block_1", first=2)

        for number in range(1, 6):
            x = torch.cat([skips.pop(), x], dim=1)
            x = self._transposed(x, number)
            if number < 5:
                x = self._activate(x, f"model0_dbn_{number}", number + 4)
        return torch.complex(x[0, 0], x[0, 1])

    def _transposed(self, x, number):
        (frames, bins) = x.shape[2:]
        stride = (1, 2) if number >= 4 else (1, 1)
        (weight, bias) = self._kernel(f"model0_dconv_{number}")
        x = functional.conv_transpose2d(x, weight, bias, stride=stride)
        if number == 5:
            return x[:, :, :frames, :-2]

        first = 0 if number == 4 else 1  # how Keras crops "same" at strides 2 and 1
        return x[:, :, :frames, first : first + bins * stride[1]]

    def _kernel(self, name):
        return self.weights[f"{name}/kernel"].permute(3, 2, 0, 1), self.weights[f"{name}/bias"]

    def _activate(self, x, norm, prelu):
        x = functional.batch_norm(
            x,
            self.weights[f"{norm}/moving_mean"],
            self.weights[f"{norm}/moving_variance"],
            self.weights[f"{norm}/gamma"],
            self.weights[f"{norm}/beta"],
            eps=EPSILON,
        )
        name = f"p_re_lu_{prelu}" if prelu else "p_re_lu"
        return functional.prelu(x, self.weights[f"{name}/alpha"].flatten())

    def _layer_norm(self, name, x):
        """Normalise each frame of x (C, T, F) over channels and bins."""
        (channels, _, bins) = x.shape
        (variance, mean) = torch.var_mean(x, dim=(0, 2), correction=0, keepdim=True)
        gamma = self.weights[f"{name}/gamma"].reshape(bins, channels)  # Keras reshapes them
        beta = self.weights[f"{name}/beta"].reshape(bins, channels)
        x = (x - mean) / torch.sqrt(variance + EPSILON)
        return x * gamma.T[:, None] + beta.T[:, None]

    def _dual_path(self, x, block, first):
        """Run the LSTMs along frequency, then along time. x: (1, C, T, F); `first`: Keras' count."""
        along_frequency = x[0].permute(2, 1, 0)  # (F, T, C)
        suffix = f"_{first // 2}" if first else ""
        lstm = f"{block}/bidirectional{suffix}"
        number = f"_{first}" if first else ""
        forward = self._lstm(f"{lstm}/forward_lstm{number}", along_frequency)
        backward = self._lstm(f"{lstm}/backward_lstm{number}", along_frequency.flip(0)).flip(0)
        y = self._dense(f"{block}/dense{number}", torch.cat([forward, backward], dim=-1))
        y = y.permute(2, 1, 0)
        x = x + self._layer_norm(f"{block}/layer_normalization_{first + 1}", y)

        along_time = x[0].permute(1, 2, 0)  # (T, F, C)
        y = self._lstm(f"{block}/lstm_{first + 1}", along_time)
        y = self._dense(f"{block}/dense_{first + 1}", y).permute(2, 0, 1)
        return x + self._layer_norm(f"{block}/layer_normalization_{first + 2}", y)

    def _dense(self, name, x):
        return x @ self.weights[f"{name}/kernel"] + self.weights[f"{name}/bias"]

    def _lstm(self, name, x):
        """Keras' LSTM with its hard sigmoid. x: (steps, batch, channels)."""
        recurrent = self.weights[f"{name}/recurrent_kernel"]
        inputs = x @ self.weights[f"{name}/kernel"] + self.weights[f"{name}/bias"]
        hidden = torch.zeros(x.shape[1], len(recurrent))
        cell = torch.zeros_like(hidden)
        outputs = []
        for step in inputs:
            (i, f, c, o) = torch.chunk(step + hidden @ recurrent, 4, dim=-1)
            cell = _hard_sigmoid(f) * cell + _hard_sigmoid(i) * torch.tanh(c)
            hidden = _hard_sigmoid(o) * torch.tanh(cell)
            outputs.append(hidden)
        return torch.stack(outputs)


def _hard_sigmoid(x):
    return torch.clamp(0.2 * x + 0.5, 0, 1)

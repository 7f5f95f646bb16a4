"""Run the published weights of Hush (pulp-vision/Hush) on whole recordings, without LiveKit.

The wheel livekit-plugins-hush holds three ONNX graphs and the features of DeepFilterNet in NumPy.
Its own session passes on the states of the recurrent layers but not the last frames that the
convolutions along time read, so that these see zeros; here each graph gets all frames at once. That
gives the authors' sample_00006_denoised.wav from their sample_00006_raw.wav (SI-SDR 66 dB; the
session of the wheel 13 dB).
"""

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

SAMPLE_RATE = 16000
FFT_SIZE = 320
HOP_LENGTH = 160
DELAY = FFT_SIZE - HOP_LENGTH  # samples from the input of the STFT to the output of its inverse
BANDS = 32  # of the mask
FILTERED = 64  # bins that a filter along time enhances; the mask is for those above
TAPS = 5
STATE = 256


class Hush:
    """The network without a limit of its attenuation. Waveforms of shape (samples,), at 16 kHz."""

    def __init__(self, checkout: Path) -> None:
        package = ModuleType("hush_plugin")  # that of the wheel without its __init__: no LiveKit
        package.__path__ = [str(checkout / "livekit" / "plugins" / "hush")]
        sys.modules["hush_plugin"] = package
        self.dsp: Any = importlib.import_module("hush_plugin._libdf")
        network: Any = importlib.import_module("hush_plugin._hush_model")
        self.model = network.HushModel()
        self.smoothing = float(np.exp(-HOP_LENGTH / SAMPLE_RATE))  # time constant: 1 s

    def enhance(self, noisy: np.ndarray) -> np.ndarray:
        """Return the enhanced samples, as many as `noisy` has or up to a hop more."""
        stft = self.dsp.DF(SAMPLE_RATE, FFT_SIZE, HOP_LENGTH, BANDS, min_nb_erb_freqs=2)
        padded = np.pad(noisy, (0, DELAY + -(len(noisy) + DELAY) % HOP_LENGTH))
        spec = stft.analysis(padded[None])  # (1, T, bins)
        (mask, filters) = self._run(spec, stft.erb_widths())
        enhanced = spec[0] * (mask @ self.model.erb_inv_fb)
        enhanced[:, :FILTERED] = filtered(spec[0, :, :FILTERED], filters)
        return stft.synthesis(enhanced[None])[0, DELAY:]

    def _run(self, spec: np.ndarray, widths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the mask (T, BANDS) and the filters (T, FILTERED, TAPS), complex."""
        levels = self.dsp.erb(spec, widths)
        (bands, _) = self.dsp.erb_norm(levels, self.smoothing)
        (low, _) = self.dsp.unit_norm(spec[..., :FILTERED].copy(), self.smoothing)
        inputs = {
            "feat_erb": bands[:, None],
            "feat_spec": np.stack([low.real, low.imag], axis=1),
            "h_enc_in": _state(1),
        }
        (e0, e1, e2, e3, emb, c0, _, _) = self.model.enc_sess.run(None, inputs)

        skips = {"e0": e0, "e1": e1, "e2": e2, "e3": e3}
        inputs = {"emb": emb, **skips, "h_erb_dec_in": _state(1)}
        (mask, _) = self.model.erb_dec_sess.run(None, inputs)
        inputs = {"emb": emb, "c0": c0, "h_df_dec_in": _state(3)}
        (filters, _) = self.model.df_dec_sess.run(None, inputs)
        filters = filters.reshape(-1, FILTERED, TAPS, 2)
        return mask[0, 0], filters[..., 0] + 1j * filters[..., 1]


def filtered(spec: np.ndarray, filters: np.ndarray) -> np.ndarray:
    """Return the sum of each frame and those before it, each times its tap; the last is its own."""
    padded = np.pad(spec, ((TAPS - 1, 0), (0, 0)))
    total = np.zeros_like(spec)
    for tap in range(TAPS):
        total += padded[tap : tap + len(spec)] * filters[:, :, tap]
    return total


def _state(layers: int) -> np.ndarray:
    return np.zeros((layers, 1, STATE), np.float32)

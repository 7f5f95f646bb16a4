"""The enhancers of tools/peers whose weights or delays need code of this repository."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

PEERS = Path(__file__).parents[2] / "tools" / "peers"
DSP = """
import numpy as np

WINDOW = np.sin(np.pi * (np.arange(320) + 0.5) / 320)

class DF:
    def __init__(self, sample_rate, fft_size, hop_length, bands, min_nb_erb_freqs):
        pass

    def erb_widths(self):
        return None

    def analysis(self, audio):
        frames = np.lib.stride_tricks.sliding_window_view(np.pad(audio[0], (160, 0)), 320)[::160]
        return np.fft.rfft(frames * WINDOW)[None]

    def synthesis(self, spec):
        frames = np.fft.irfft(spec[0]) * WINDOW
        late = np.pad(frames[:-1, 160:], ((1, 0), (0, 0)))
        return (frames[:, :160] + late).reshape(1, -1)

def erb(spec, widths):
    return np.zeros((*spec.shape[:2], 32))

def erb_norm(x, alpha):
    return x, None

unit_norm = erb_norm
"""
NETWORK = """
import numpy as np

class Graph:
    def __init__(self, outputs):
        self.outputs = outputs

    def run(self, names, inputs):
        return self.outputs(inputs)

class HushModel:  # leaves the signal as it is
    erb_inv_fb = np.full((32, 161), 1 / 32)
    enc_sess = Graph(lambda x: [0, 0, 0, 0, x["feat_erb"], 0, 0, 0])
    erb_dec_sess = Graph(lambda x: [np.ones_like(x["emb"]), 0])
    df_dec_sess = Graph(lambda x: [np.tile([0, 0] * 4 + [1, 0], (1, x["emb"].shape[2], 64, 1)), 0])
"""


@pytest.fixture
def peers(monkeypatch):
    """Import a module of tools/peers."""
    monkeypatch.syspath_prepend(PEERS)
    return importlib.import_module


@pytest.mark.parametrize("length", [1, 320, 1000])
def test_hush_loses_its_delay(peers, monkeypatch, tmp_path, length):
    folder = tmp_path / "livekit" / "plugins" / "hush"
    folder.mkdir(parents=True)
    (folder / "_libdf.py").write_text(DSP)
    (folder / "_hush_model.py").write_text(NETWORK)
    for name in ("_libdf", "_hush_model"):
        monkeypatch.delitem(sys.modules, f"hush_plugin.{name}", raising=False)
    rate, enhance = peers("enhance").hush(tmp_path)
    noisy = np.random.default_rng(0).standard_normal(length)
    assert rate == 16000
    assert np.allclose(enhance(noisy)[:length], noisy)


def test_filters_read_the_frames_before(peers):
    """y[t] = sum over tap k of spec[t - 4 + k] filters[t, k], for each bin."""
    rng = np.random.default_rng(0)
    spec = rng.standard_normal((7, 3)) + 1j * rng.standard_normal((7, 3))
    filters = rng.standard_normal((7, 3, 5)) + 1j * rng.standard_normal((7, 3, 5))
    found = peers("hush").filtered(spec, filters)
    for t in range(7):
        taps = [k for k in range(5) if t - 4 + k >= 0]
        assert np.allclose(found[t], sum(spec[t - 4 + k] * filters[t, :, k] for k in taps))


def test_strided_convolution_equals_its_form_of_stride_1(peers):
    """The second, as the network of FastEnhancer computes it, on a folded signal."""
    torch = pytest.importorskip("torch")
    weight = torch.randn(5, 2, 8)
    signal = torch.randn(1, 2, 24)
    expected = torch.nn.functional.conv1d(signal, weight, stride=4)
    folded = signal.reshape(1, 2, 6, 4).permute(0, 3, 1, 2).reshape(1, 8, 6)
    found = torch.nn.functional.conv1d(folded, peers("fastenhancer").strided(weight))
    assert torch.allclose(found, expected, atol=1e-5)


def test_values_are_taken_in_order(peers):
    torch = pytest.importorskip("torch")
    values = peers("fastenhancer").Values(np.arange(9, dtype=np.float32))
    layer = torch.nn.Conv1d(1, 2, 2)
    values.convolution(layer)
    assert layer.weight.tolist() == [[[0, 4]], [[10, 15]]]
    assert layer.bias.tolist() == [6, 7]
    assert values.take(1).tolist() == [8]

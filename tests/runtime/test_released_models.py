"""Released models compute what they computed when they were released.

tests/recorded/released_models.npz holds every 37th sample of `denoise` on assets/noisy.wav, by the
name of the model. A model that was meant to change brings a new record of its own.
"""

from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr

import qse
from qse.runtime.engine import Engine

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "tests" / "recorded" / "released_models.npz"
STRIDE = 37
TOLERANCE = 1e-6
RELEASED = sorted(path.parent for path in (ROOT / "models").glob("*/model.onnx"))


def difference(model: Path, name: str) -> float:
    """Return the largest difference between what `model` computes and the record of `name`."""
    noisy, sample_rate = soundfile.read(ROOT / "assets" / "noisy.wav", dtype="float32")
    enhanced = qse.denoise(noisy, sample_rate, qse.load(model))
    return float(np.abs(enhanced[::STRIDE] - np.load(RECORDED)[name]).max())


def test_released_models_are_recorded():
    assert sorted(np.load(RECORDED).files) == [folder.name for folder in RELEASED]


@pytest.mark.parametrize("folder", RELEASED, ids=lambda folder: folder.name)
def test_released_model_computes_what_is_recorded(folder):
    assert difference(folder, folder.name) < TOLERANCE


def test_released_model_record_tells_models_apart():
    assert difference(RELEASED[0], RELEASED[1].name) > 1000 * TOLERANCE


@pytest.mark.parametrize("folder", RELEASED, ids=lambda folder: folder.name)
def test_released_state_names_mirror_the_module_tree(folder):
    """One tensor per layer with state, named after it, as the network's own state in torch."""
    pytest.importorskip("torch")
    import torch

    from qse.networks.two_grids import TwoGrids
    from qse.networks.weights import load_network
    from qse.nn.state import flatten_state

    network, _ = load_network(folder / "config.toml", folder / "weights.safetensors")
    if folder.name != "live-tiny":
        network = TwoGrids(network)
    with torch.no_grad():
        state = flatten_state(network(torch.zeros(1, network.config.hop_length))[1])
    assert list(Engine(folder / "model.onnx").initial_state()) == [
        f"state.{path}" for path in state
    ]


@pytest.mark.parametrize("name", ["live-tiny", "live-base", "live-large"])
def test_released_models_invent_nothing_above_the_band_of_the_input(name):
    """A recording at 48 kHz whose content ends at 8 kHz has at most 1 dB more above it
    afterwards."""
    noisy, _ = soundfile.read(ROOT / "assets" / "noisy.wav", dtype="float64")
    noisy = soxr.resample(noisy[:64000], 16000, 48000)
    enhanced = qse.denoise(noisy, 48000, name)
    assert qse.load(name, sample_rate=48000).sample_rate == 48000
    above = np.fft.rfftfreq(len(noisy), 1 / 48000) > 8500
    energy = [np.square(np.abs(np.fft.rfft(audio)[above])).sum() for audio in (noisy, enhanced)]
    assert energy[1] < energy[0] * 10**0.1


@pytest.mark.parametrize("blocksize", [480, 441, 600])
def test_released_full_band_stream_equals_its_file(blocksize):
    engine = qse.load("live-tiny", sample_rate=48000)
    noisy = (0.1 * np.random.default_rng(0).standard_normal(24000)).astype(np.float32)
    stream = qse.Stream(engine)
    ends = [*range(blocksize, len(noisy), blocksize), len(noisy)]
    blocks = [stream.process(part) for part in np.split(noisy, ends[:-1])]
    whole = np.concatenate([*blocks, stream.finish()])[stream.latency :]
    np.testing.assert_array_equal(whole, qse.denoise(noisy, 48000, engine))

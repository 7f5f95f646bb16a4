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
# dB of SI-SDR, at any level
LARGEST_LOSS = {
    "live-tiny": 0.7,
    "live-base": 0.55,
    "live-large": 0.5,
    "studio-base": 0.5,
    "studio-large": 0.5,
}
RELEASED = sorted(path.parent for path in (ROOT / "models").glob("*/model.onnx"))
MARKED = []  # the same, the large ones as slow
for released in RELEASED:
    marks = [pytest.mark.slow] if released.name.endswith("-large") else []
    MARKED.append(pytest.param(released, marks=marks, id=released.name))


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

    from qse.networks.weights import load_network
    from qse.nn.state import flatten_state

    network, _ = load_network(folder / "config.toml", folder / "weights.safetensors")
    with torch.no_grad():
        state = flatten_state(network(torch.zeros(1, network.config.hop_length))[1])
    assert list(Engine(folder / "model.onnx").initial_state()) == [
        f"state.{path}" for path in state
    ]


def si_sdr(enhanced: np.ndarray, clean: np.ndarray) -> float:
    target = (enhanced @ clean) / (clean @ clean) * clean
    return float(10 * np.log10(np.square(target).sum() / np.square(enhanced - target).sum()))


@pytest.mark.parametrize("folder", MARKED)
def test_a_gain_on_the_input_of_a_released_model_is_that_gain_on_its_output(folder):
    """From -70 to +34 dBFS: the level within 1 dB, SI-SDR within LARGEST_LOSS of that at -20."""
    noisy, sample_rate = soundfile.read(ROOT / "assets" / "noisy.wav", dtype="float32")
    clean, _ = soundfile.read(ROOT / "assets" / "clean.wav", dtype="float32")
    engine = qse.load(folder)

    def at(peak: float) -> tuple[float, float]:
        gain = np.float32(10 ** (peak / 20) / np.abs(noisy).max())
        enhanced = qse.denoise(noisy * gain, sample_rate, engine).astype(np.float64) / gain
        return si_sdr(enhanced, clean), 10 * np.log10(np.square(enhanced).mean())

    quality, level = at(-20)
    for peak in (-70, -60, 6, 34):  # between them it is no worse
        found = at(peak)
        assert found[0] > quality - LARGEST_LOSS[folder.name], f"SI-SDR at {peak} dBFS"
        assert abs(found[1] - level) < 1, f"level at {peak} dBFS"


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

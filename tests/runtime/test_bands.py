"""Which graph of a model serves which sample rate."""

import graphs
import numpy as np
import pytest
import soundfile

import qse
from qse.errors import QseError
from qse.runtime.bands import BandModels
from qse.runtime.batch import run
from qse.runtime.batch_plan import FileJob
from qse.runtime.checksums import seal
from qse.runtime.zoo import find, load


@pytest.fixture(autouse=True)
def models(tmp_path, monkeypatch):
    """`both` has a graph for 16 kHz and one for 48 kHz, `narrow` the first alone; all delay their
    input."""
    for name in ("both", "narrow"):
        graphs.delay(tmp_path / "models" / name / "model.onnx")
    full = tmp_path / "models/both/model-48k.onnx"
    graphs.delay(full, latency=480, sample_rate=48000, hop_length=480)
    monkeypatch.setenv("QSE_MODELS", str(tmp_path / "models"))
    return tmp_path / "models"


@pytest.mark.parametrize(
    ("model", "sample_rate", "expected"),
    [
        ("both", None, 16000),
        ("both", 8000, 16000),
        ("both", 16000, 16000),
        ("both", 22050, 48000),
        ("both", 96000, 48000),
        ("narrow", 48000, 16000),
    ],
)
def test_load_takes_the_graph_for_the_sample_rate(model, sample_rate, expected):
    assert load(model, sample_rate=sample_rate).sample_rate == expected


def test_find_takes_a_graph_that_is_named_itself(models):
    path = models / "both" / "model.onnx"
    assert find(path, 48000) == path
    assert find(path.parent, 48000) == models / "both" / "model-48k.onnx"


def test_load_refuses_a_damaged_full_band_graph(models):
    seal(models / "both")
    path = models / "both/model-48k.onnx"
    path.write_bytes(path.read_bytes() + b"\0")
    assert load("both").sample_rate == 16000
    with pytest.raises(QseError, match=r"model-48k.* is damaged"):
        load("both", sample_rate=48000)


def test_denoise_keeps_the_band_of_its_input():
    tone = 0.5 * np.sin(2 * np.pi * 12000 / 48000 * np.arange(48000)).astype(np.float32)
    assert np.abs(qse.denoise(tone, 48000, "both") - tone).max() < 1e-6
    # 12 kHz is above its band
    assert np.abs(qse.denoise(tone, 48000, "narrow"))[1000:-1000].max() < 1e-3


@pytest.mark.parametrize(
    ("band", "rates"), [(None, [16000, 48000]), ("wide", [16000] * 2), ("full", [48000] * 2)]
)
def test_band_models_choose(band, rates):
    models = BandModels("both", band)
    assert [models.at(rate).sample_rate for rate in (16000, 44100)] == rates
    assert len(models.graphs) == len(set(rates))
    assert models.at(44100) is models.at(48000)


def test_band_models_refuse_a_band_that_is_missing():
    with pytest.raises(QseError, match="narrow has no full-band graph"):
        BandModels("narrow", "full")


def test_run_chooses_for_each_file(tmp_path):
    noise = 0.1 * np.random.default_rng(0).standard_normal(48000)
    jobs = [
        FileJob(tmp_path / f"{rate}.wav", tmp_path / f"{rate}-out.wav") for rate in (16000, 48000)
    ]
    for job, rate in zip(jobs, (16000, 48000), strict=True):
        soundfile.write(job.source, noise, rate, "FLOAT")
    outcomes = list(run(jobs, BandModels("both").at))
    assert [outcome.bandwidth for outcome in outcomes] == [8000, 24000]
    for job in jobs:
        np.testing.assert_allclose(soundfile.read(job.target)[0], noise, atol=1e-6)

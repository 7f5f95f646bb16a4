"""Spectrograms of an utterance: panels, levels, refusals."""

import os
import stat

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib")
pytest.importorskip("pesq")

import soundfile
from loss_signals import speech_like
from qse_papers import experiment
from qse_papers.spectrograms import low_level
from result_tables import rows_by

from qse.errors import QseError


def test_spectrograms_scores_each_network(small_run, tmp_path):
    clean = 0.5 * speech_like(0, 1.0)
    hum = 0.05 * np.sin(2 * np.pi * 64 * np.arange(len(clean)) / 16000)
    for name, audio in (("clean", clean), ("noisy", clean + hum)):
        soundfile.write(tmp_path / f"{name}.wav", audio, 16000, subtype="FLOAT")
    (tmp_path / "noisy.wav").chmod(0o600)
    models = f'models=["{small_run("qtransformer")}", "{small_run("qdensenet")}"]'
    changes = [models, f"clean={tmp_path / 'clean.wav'}", f"noisy={tmp_path / 'noisy.wav'}"]
    line = experiment("spectrograms", tmp_path / "out", changes)
    rows = rows_by(tmp_path / "out/spectrograms.csv", "panel")
    assert list(rows) == ["noisy", "qtransformer-0", "qdensenet-0"] and line.startswith(
        "noisy: WB-PESQ"
    )
    excess = low_level(clean + hum) - low_level(clean)
    assert (
        float(rows["noisy"]["32 to 96 Hz, dB above clean"]) == pytest.approx(excess, abs=1e-3)
        and excess > 3
    )
    picture = (tmp_path / "out/spectrograms.png").stat()
    assert picture.st_size > 10000
    assert os.name == "nt" or stat.S_IMODE(picture.st_mode) == 0o600


def test_low_level_is_that_of_its_band():
    time = np.arange(16000) / 16000
    # one-sided
    assert low_level(np.sin(2 * np.pi * 64 * time)) == pytest.approx(10 * np.log10(0.25), abs=0.01)
    assert low_level(np.sin(2 * np.pi * 200 * time)) < -100


def test_spectrograms_asks_for_its_files(tmp_path):
    with pytest.raises(QseError, match="needs networks and an utterance"):
        experiment("spectrograms", tmp_path)

"""The script that generates the recordings of the documentation, with a given voice."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import soundfile

pytest.importorskip("torch")

FILE = Path(__file__).parents[2] / "assets" / "make.py"
spec = importlib.util.spec_from_file_location("make", FILE)
make = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make)


def level(audio):
    """Return the RMS over the frames of 20 ms within 40 dB of the loudest one, in dB."""
    power = np.square(audio[: len(audio) // 320 * 320].reshape(-1, 320)).mean(1)
    return 10 * np.log10(power[power >= 1e-4 * power.max()].mean())


def test_make_mixes_at_4_db(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.setattr(
        make, "synthesise", lambda text, voice: rng.standard_normal(24000).astype(np.float32)
    )
    monkeypatch.setattr(make, "HERE", tmp_path)
    monkeypatch.setattr(make, "SAMPLE", tmp_path / "sample.flac")
    make.main()
    clean, _ = soundfile.read(tmp_path / "clean.wav")
    noisy, _ = soundfile.read(tmp_path / "noisy.wav")
    np.testing.assert_array_equal(soundfile.read(tmp_path / "sample.flac")[0], noisy[:80000])
    assert level(clean) - level(noisy - clean) == pytest.approx(4.0, abs=0.05)
    assert np.abs(noisy).max() == pytest.approx(10 ** (-3 / 20), abs=1e-4)

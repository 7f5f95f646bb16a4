"""The tool that scores one set of weights at several latencies."""

import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib")

import latency_curve
from small_networks import streaming

from qse.train.validation_pairs import Utterance


def test_every_look_ahead_is_scored_and_drawn(monkeypatch, tmp_path, capsys):
    network = streaming(blocks=1, look_ahead=2, look_ahead_blocks=(0,))
    rng = np.random.default_rng(0)
    clean, noise = 0.1 * rng.standard_normal((2, 8000)).astype(np.float32)
    pair = Utterance("a", clean + noise, clean)
    monkeypatch.setattr(latency_curve, "load_network", lambda *paths: (network, {}))
    monkeypatch.setattr(latency_curve, "find_pairs", lambda folder, rate: [pair])
    monkeypatch.setattr(latency_curve, "read_pairs", lambda pairs: pairs)
    monkeypatch.setattr(latency_curve, "METRICS", {"si_sdr": "SI-SDR dB", "stoi": "STOI"})
    words = ["run", "--pairs", "pairs", "--picture", str(tmp_path / "curve.png")]
    monkeypatch.setattr(sys, "argv", ["latency_curve.py", *words])
    latency_curve.main()
    rows = capsys.readouterr().out.splitlines()
    starts = ["0 frames, 4 ms: SI-SDR dB ", "1 frames, 6 ms: ", "2 frames, 8 ms: "]
    assert [row.startswith(start) for row, start in zip(rows, starts, strict=True)] == [True] * 3
    assert (tmp_path / "curve.png").stat().st_size > 1000

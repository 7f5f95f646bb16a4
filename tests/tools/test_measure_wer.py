"""The counting of word errors, and the tool from files to its table with a given recogniser."""

import json
from functools import cache

import measure_wer
import numpy as np
import pytest
import soundfile


def test_distance_equals_recursive_definition():
    """Wagner and Fischer's recurrence, written down as it is defined."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        a = tuple(rng.choice(["to", "two", "too"], rng.integers(0, 6)))
        b = tuple(rng.choice(["to", "two", "too"], rng.integers(0, 6)))

        @cache
        def edits(i, j, a=a, b=b):
            if not i or not j:
                return i + j
            return min(
                edits(i - 1, j) + 1,
                edits(i, j - 1) + 1,
                edits(i - 1, j - 1) + (a[i - 1] != b[j - 1]),
            )

        assert measure_wer.distance(list(a), list(b)) == edits(len(a), len(b))


@pytest.mark.parametrize("snr", [-5.0, 10.0])
def test_mixed_has_the_snr(snr):
    rng = np.random.default_rng(1)
    speech, noise = 0.01 * rng.standard_normal((2, 4000))
    added = measure_wer.mixed(speech, noise, snr) - speech
    assert 10 * np.log10(np.mean(speech**2) / np.mean(added**2)) == pytest.approx(snr, abs=0.01)


def test_tool_prints_differences_to_noisy(tmp_path, monkeypatch, capsys):
    """The recogniser hears both words in clean, one in noisy and none in enhanced speech."""
    rng = np.random.default_rng(2)
    for name in ("speech.wav", "noise/fan/a.wav"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(tmp_path / name, 0.1 * rng.standard_normal(8000), 16000)
    line = {"audio_filepath": "speech.wav", "text": "Good morning."}
    (tmp_path / "m.jsonl").write_text(json.dumps(line) + "\n")
    heard = iter(["good morning", "good", ""])
    monkeypatch.setattr(measure_wer, "pocketsphinx", lambda: lambda audio: next(heard))
    options = ["--noise", str(tmp_path / "noise"), "--snr", "0", "--limits", "--model", "live-tiny"]
    monkeypatch.setattr("sys.argv", ["measure_wer.py", str(tmp_path / "m.jsonl"), *options])
    measure_wer.main()
    out = capsys.readouterr().out
    assert "1 utterances, 2 words; clean speech: 0.0" in out
    assert "| 0 dB | 50.0 | 100.0 (+50.0; +50.0 to +50.0) |" in out

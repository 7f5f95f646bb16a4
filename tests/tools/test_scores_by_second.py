"""Scores within each second, of a system that removes noise only from the third second on."""

import sys

import numpy as np
import pytest
import scores_by_second
import soundfile

RATE = 16000


@pytest.fixture
def folders(tmp_path):
    """Two pairs of 4.5 and 3 s: a tone in the first half of each second, in white noise.

    From the third second on, 20 dB of the noise are removed. The tone of the second pair does not
    pause in its first second.
    """
    rng = np.random.default_rng(0)
    for name, seconds in (("a", 4.5), ("b", 3.0)):
        time = np.arange(int(seconds * RATE)) / RATE
        tone = 0.3 * np.sin(2 * np.pi * 440 * time)
        sounding = (time % 1 < 0.5) | ((time < 1) & (name == "b"))
        noise = 0.05 * rng.standard_normal(len(time))
        left = np.where(time < 2, 1, 0.1)
        signals = {
            "clean": tone * sounding,
            "noisy": tone * sounding + noise,
            "enhanced": tone * sounding + left * noise,
        }
        for side, audio in signals.items():
            (tmp_path / side).mkdir(exist_ok=True)
            soundfile.write(tmp_path / side / f"{name}.wav", audio, RATE, subtype="DOUBLE")
    return tmp_path


def test_noise_removed_from_the_third_second_on(folders, monkeypatch, capsys):
    words = [str(folders / "enhanced"), "--clean", str(folders / "clean")]
    words += ["--noisy", str(folders / "noisy")]
    monkeypatch.setattr(sys, "argv", ["scores_by_second.py", *words])
    scores_by_second.main()
    assert capsys.readouterr().out.splitlines()[2:] == [
        "| 0 to 1 | 2 | 0.00 (0.00 to 0.00) | 1 | 0.00 (0.00 to 0.00) |",
        "| 1 to 2 | 2 | 0.00 (0.00 to 0.00) | 2 | 0.00 (0.00 to 0.00) |",
        "| 2 to 3 | 2 | 20.00 (20.00 to 20.00) | 2 | 20.00 (20.00 to 20.00) |",
        "| 3 to 4 | 1 | 20.00 (20.00 to 20.00) | 1 | 20.00 (20.00 to 20.00) |",
    ]


def test_what_is_not_there_has_no_value():
    assert np.isnan(scores_by_second.decibels(0, 1))
    assert scores_by_second.decibels(1, 0) == 100
    assert scores_by_second.decibels(1e-30, 1) == -100

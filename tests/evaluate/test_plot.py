"""Spectrograms and histograms."""

import os

import numpy as np
import pytest
import soundfile

from qse.data.datasets import Pair
from qse.evaluate import report_plots
from qse.evaluate.computing_systems import find_system
from qse.evaluate.plot import levels, plot_grid, plot_spectrograms


def test_plot_spectrograms_shares_one_colour_scale(tmp_path):
    sine = np.sin(2 * np.pi * 1000 * np.arange(16000) / 16000)
    panel = levels(sine, 16000)
    assert panel.max() == pytest.approx(0.0, abs=0.01)
    assert panel[:, 60].argmax() * 16000 / 512 == 1000
    assert levels(np.zeros(10 * 60 * 16000), 16000).shape[1] < 5000
    assert levels(np.zeros(100), 10).shape == (2, 101)  # a log of some sensor, one value a frame
    import matplotlib.axes

    scales = []
    draw = matplotlib.axes.Axes.imshow

    def spy(axis, image, **style):
        scales.append((style["vmin"], style["vmax"]))
        return draw(axis, image, **style)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matplotlib.axes.Axes, "imshow", spy)
        plot_spectrograms(
            [("loud", sine, 16000), ("soft", 0.001 * sine, 16000)], tmp_path / "two.png", None
        )
    assert scales[0] == scales[1] and scales[0][1] == pytest.approx(0.0, abs=0.01)
    assert (tmp_path / "two.png").read_bytes().startswith(b"\x89PNG")


def test_plot_grid_accepts_rows_without_clean(tmp_path):
    noisy, enhanced, clean = (
        (name, np.sin(np.arange(4000)), 16000) for name in ("noisy", "enhanced", "clean")
    )
    plot_grid([[noisy, enhanced], [noisy, enhanced, clean]], tmp_path / "worst.png", None)
    assert (tmp_path / "worst.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_a_picture_is_as_private_as_what_it_shows(tmp_path, monkeypatch):
    """The typical utterance may be read by its owner alone, the worst one by all."""
    monkeypatch.setattr(report_plots, "WORST", 1)
    rows = [{"name": "a", "stoi": 0.5}, {"name": "b", "stoi": 0.9}]
    pairs = []
    for name, mode in (("a", 0o644), ("b", 0o600)):
        path = tmp_path / f"{name}.wav"
        soundfile.write(path, np.sin(np.arange(4000)), 16000)
        path.chmod(mode)
        pairs.append(Pair(name, path, None))
    report_plots.plot_report(tmp_path, find_system("noisy"), pairs, rows, ["stoi"], 16000)
    assert (tmp_path / "spectrograms.png").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "worst-stoi.png").stat().st_mode & 0o044


@pytest.mark.filterwarnings("error")
def test_control_signs_of_a_title_are_drawn_escaped(tmp_path):
    """Matplotlib warns of signs that no font has, and would name them as they are."""
    title = "a\x1b[31m\u202eb"
    plot_spectrograms([(title, np.ones(16000, np.float32), 16000)], tmp_path / "a.png", None)
    assert (tmp_path / "a.png").exists()

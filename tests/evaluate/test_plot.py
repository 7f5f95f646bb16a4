"""Spectrograms and histograms."""

import numpy as np
import pytest

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
            [("loud", sine, 16000), ("soft", 0.001 * sine, 16000)], tmp_path / "two.png"
        )
    assert scales[0] == scales[1] and scales[0][1] == pytest.approx(0.0, abs=0.01)
    assert (tmp_path / "two.png").read_bytes().startswith(b"\x89PNG")


def test_plot_grid_accepts_rows_without_clean(tmp_path):
    noisy, enhanced, clean = (
        (name, np.sin(np.arange(4000)), 16000) for name in ("noisy", "enhanced", "clean")
    )
    plot_grid([[noisy, enhanced], [noisy, enhanced, clean]], tmp_path / "worst.png")
    assert (tmp_path / "worst.png").read_bytes().startswith(b"\x89PNG")

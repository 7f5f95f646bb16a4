"""Name what an exported model lacks of the one that its training began with."""

import graphs
import pytest
import torch

from qse.export.origin import lacking
from qse.train import checkpoint


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """A run that began with the installed model "first", on two grids and with a graph for 48 kHz;
    and a function that makes an export of it."""
    monkeypatch.setenv("QSE_MODELS", str(tmp_path / "models"))
    graphs.delay(tmp_path / "models/first/model.onnx", second_grid=50)
    graphs.delay(tmp_path / "models/first/model-48k.onnx", sample_rate=48000)
    run = tmp_path / "run"
    run.mkdir()
    checkpoint.save(
        run / "checkpoint.safetensors", {"a": torch.zeros(1)}, {"origin": "first"}, None
    )

    def export(full_band: bool, **how):
        folder = tmp_path / "mine"
        graphs.delay(folder / "model.onnx", **how)
        if full_band:
            graphs.delay(folder / "model-48k.onnx", sample_rate=48000, **how)
        return lacking(run, folder)

    return export


def test_grids_and_rates_are_compared(begun):
    both = begun(full_band=False)
    assert "mine runs on one grid of frames and first, " in both[0]
    assert both[0].endswith("two_grids=True")
    assert "mine ends at 8 kHz and first, " in both[1] and len(both) == 2


def test_nothing_is_said_where_nothing_is_lacking(begun):
    assert begun(full_band=True, second_grid=50) == []


def test_start_that_is_not_installed_is_not_compared(begun, monkeypatch, tmp_path):
    monkeypatch.setenv("QSE_MODELS", str(tmp_path / "nowhere"))
    assert begun(full_band=False) == []


def test_a_path_in_the_place_of_a_name_is_not_opened(begun, monkeypatch, tmp_path):
    """The header of a foreign run may hold any."""
    path = str(tmp_path / "models/first/model.onnx")
    (tmp_path / "run/checkpoint.safetensors").unlink()
    checkpoint.save(
        tmp_path / "run/checkpoint.safetensors", {"a": torch.zeros(1)}, {"origin": path}, None
    )
    opened = []
    monkeypatch.setattr("qse.export.origin.load", lambda given: opened.append(given))
    assert begun(full_band=False) == [] and not opened

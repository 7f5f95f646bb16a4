"""The model that fits a latency."""

import graphs
import pytest

from qse import QseError
from qse.live.model_choice import model_within


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Make models with hops of 10 ms: studio-large of 210 ms, live-base of 20 ms, one of 15 ms."""
    for name, samples in {"studio-large": 3200, "live-base": 160, "quick": 80}.items():
        graphs.delay(tmp_path / name / "model.onnx", latency=samples)
    monkeypatch.setenv("QSE_MODELS", str(tmp_path))
    monkeypatch.setattr("qse_models.__path__", [])


@pytest.mark.parametrize(
    "milliseconds, name",
    [
        (300, "studio-large"),
        (210, "studio-large"),
        (209, "live-base"),
        (20, "live-base"),
        (15, "quick"),
    ],
)
def test_model_within_a_latency(installed, milliseconds, name):
    assert model_within(milliseconds / 1000) == name


def test_no_model_within_a_latency(installed):
    with pytest.raises(QseError, match="the least delay is 15 ms"):
        model_within(0.01)

"""What the tests of the light half share: a folder of small models, and one engine of each."""

import graphs
import pytest

import qse


@pytest.fixture(scope="session")
def zoo(tmp_path_factory):
    """A folder of models: live-base (a pure delay), recurrent, fragile; see graphs.py."""
    folder = tmp_path_factory.mktemp("zoo")
    graphs.delay(folder / "live-base" / "model.onnx")
    graphs.recurrent(folder / "recurrent" / "model.onnx")
    graphs.fragile(folder / "fragile" / "model.onnx")
    return folder


@pytest.fixture
def models(zoo, monkeypatch):
    """The same folder, where `load` and the commands look for names first."""
    monkeypatch.setenv("QSE_MODELS", str(zoo))
    return zoo


@pytest.fixture(scope="session")
def delay(zoo):
    return qse.load(zoo / "live-base")


@pytest.fixture(scope="session")
def recurrent(zoo):
    return qse.load(zoo / "recurrent")


@pytest.fixture(scope="session")
def fragile(zoo):
    return qse.load(zoo / "fragile")

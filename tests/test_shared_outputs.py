"""Tables, pictures and graphs in folders that others can write: their links are not followed."""

import os
from pathlib import Path

import numpy as np
import pytest
import soundfile

pytest.importorskip("torch")
pytest.importorskip("matplotlib")

from qse.data.cached_corpus import CorpusCache
from qse.errors import QseError
from qse.evaluate.store import Store
from qse.export.target import model_target
from qse.train.training_log import MetricsLog

pytestmark = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root for chown"
)


@pytest.fixture
def shared(tmp_path):
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o777)
    return folder


@pytest.fixture
def precious(tmp_path):
    path = tmp_path / "precious"
    path.write_text("precious")
    yield path
    assert path.read_text() == "precious"


def foreign(link: Path, target: Path) -> None:
    """Make a link of another user."""
    if link.exists():
        os.unlink(link)
    link.symlink_to(target)
    os.chown(link, 12345, 12345, follow_symlinks=False)


def test_scores(shared, precious):
    store = Store(shared, ["name", "stamp"], {}, {"a": "1"})
    foreign(shared / "scores.csv", precious)
    with pytest.raises(PermissionError, match="a link that another user made"):
        store.add({"name": "a", "stamp": "1"})


def test_curves(shared, precious):
    log = MetricsLog(shared)
    log.add("train", {"step": 1, "loss": 0.5})
    log.add("valid", {"step": 1, "stoi": 0.5})
    foreign(shared / "curves.png", precious)
    with pytest.raises(PermissionError, match="a link that another user made"):
        log.draw()


def test_events(shared, tmp_path):
    pytest.importorskip("tensorboard")
    (elsewhere := tmp_path / "elsewhere").mkdir()
    foreign(shared / "tensorboard", elsewhere)
    with pytest.raises(PermissionError, match="a link that another user made"):
        MetricsLog(shared, tensorboard=True).add("train", {"step": 1, "loss": 0.5})
    assert not list(elsewhere.iterdir())


def test_cache_of_a_corpus(shared, precious, tmp_path, monkeypatch):
    """The link comes after the cache was claimed."""
    (speech := tmp_path / "speech").mkdir()
    soundfile.write(speech / "a.wav", np.full(1600, 0.1), 16000)
    cache = CorpusCache(shared / "speech", speech)
    write = CorpusCache._write

    def exchanged(*arguments: object) -> object:
        monkeypatch.setattr(Path, "unlink", lambda self, missing_ok: None)
        foreign(shared / "speech.int16", precious)
        return write(*arguments)

    monkeypatch.setattr(CorpusCache, "_write", exchanged)
    with pytest.raises(QseError, match="a link that another user made"):
        cache.corpus([speech / "a.wav"])


def test_models_are_made_elsewhere(shared, precious):
    """Make models elsewhere: whoever can write a folder can exchange a folder in it."""
    folder = shared / "model"
    folder.mkdir()
    folder.chmod(0o777)
    foreign(folder / "model.onnx", precious)
    refused = pytest.raises(QseError, match="a link that another user made")
    with refused, model_target(folder) as new:
        assert shared not in new.parents
        (new / "model.onnx").write_bytes(b"graph")
    (folder / "model.onnx").unlink()
    (folder / "card.md").write_text("former")
    with model_target(folder) as new:
        (new / "model.onnx").write_bytes(b"graph")
    assert (folder / "model.onnx").read_bytes() == b"graph"
    assert not (folder / "card.md").exists()

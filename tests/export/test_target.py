"""Write models: what is refused, and what stays when a release fails."""

import pytest

torch = pytest.importorskip("torch")

import qse_models

from qse.errors import QseError
from qse.export.target import check_target, model_target


def tree(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.glob("**/*.*")}


@pytest.fixture
def former(tmp_path):
    """A model with a file of its owner."""
    folder = tmp_path / "mine"
    folder.mkdir()
    for name in ("model.onnx", "model-48k.onnx", "card.md", "checkpoint.safetensors"):
        (folder / name).write_bytes(b"former")
    (folder / "notes.txt").write_bytes(b"mine")
    return folder


def test_a_model_is_replaced_with_overwrite_alone(former):
    with pytest.raises(QseError, match=r"holds a model already; .* use overwrite=True"):
        check_target(former, False)
    check_target(former, True)


def test_what_is_no_model_is_never_replaced(tmp_path):
    (tmp_path / "notes.txt").touch()
    with pytest.raises(QseError, match="holds files, but no model"):
        check_target(tmp_path, True)
    (tmp_path / "empty").mkdir()
    check_target(tmp_path / "empty", False)
    check_target(tmp_path / "new", False)


def test_installed_models_are_no_target(tmp_path, monkeypatch):
    monkeypatch.setattr(qse_models, "__path__", [str(tmp_path / "models")])
    (tmp_path / "models/live-base").mkdir(parents=True)
    (tmp_path / "models/live-base/model.onnx").touch()
    (tmp_path / "link").symlink_to(tmp_path / "models")
    for folder in ("models/live-base", "models/new", "link/live-base"):
        with pytest.raises(QseError, match="belongs to the installed package"):
            check_target(tmp_path / folder, True)
    (tmp_path / "pyproject.toml").touch()  # a checkout, with its models in `models`
    check_target(tmp_path / "models/new", False)
    check_target(tmp_path / "models/live-base", True)
    with pytest.raises(QseError, match="holds a model already"):
        check_target(tmp_path / "models/live-base", False)


def test_the_new_model_takes_the_place_of_the_former(former):
    with model_target(former) as new:
        (new / "model.onnx").write_bytes(b"new")
        assert (former / "model.onnx").read_bytes() == b"former"
    assert tree(former.parent) == {"mine/model.onnx": b"new", "mine/notes.txt": b"mine"}


def test_a_link_stays_a_link(former):
    link = former.with_name("link")
    link.symlink_to(former)
    with model_target(link) as new:
        (new / "model.onnx").write_bytes(b"new")
    assert link.is_symlink() and (former / "model.onnx").read_bytes() == b"new"


def test_a_failure_leaves_the_former_model(former):
    before = tree(former.parent)
    with pytest.raises(ZeroDivisionError), model_target(former) as new:
        (new / "model.onnx").write_bytes(b"new")
        1 / 0  # noqa: B018
    assert tree(former.parent) == before


def test_two_releases_at_once_are_refused(former):
    refused = pytest.raises(QseError, match="another process writes this model")
    with model_target(former), refused, model_target(former):
        pass

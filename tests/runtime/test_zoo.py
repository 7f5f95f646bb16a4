"""The zoo: names, paths, wrong names and damaged files."""

import os
from pathlib import Path

import graphs
import pytest

import qse
from qse.errors import QseError
from qse.runtime import checksums
from qse.runtime.checksums import seal
from qse.runtime.zoo import find, load


def test_available_names_are_the_folders(models):
    assert {"fragile", "live-base", "recurrent"} <= set(qse.available())
    assert qse.available() == sorted(qse.available())
    assert find("live-base") == models / "live-base" / "model.onnx"
    assert load().name == "live-base"


def test_available_finds_installed_models(monkeypatch, tmp_path):
    import qse_models

    graphs.delay(tmp_path / "installed" / "model.onnx")
    monkeypatch.delenv("QSE_MODELS", raising=False)
    monkeypatch.setattr(qse_models, "__path__", [str(tmp_path)])
    assert qse.available() == ["installed"]


def test_load_takes_a_folder_or_a_file(zoo):
    assert load(zoo / "recurrent").name == "recurrent"
    assert load(str(zoo / "recurrent" / "model.onnx")).name == "recurrent"


def test_load_lists_the_names_for_a_wrong_one(models):
    with pytest.raises(
        qse.QseError, match=r"no model called live-bass: .*fragile, live-base.*recurrent"
    ):
        load("live-bass")


@pytest.mark.parametrize(
    "options", [{"threads": 0}, {"sample_rate": 0}, {"sample_rate": float("nan")}]
)
def test_load_refuses_values_out_of_range(zoo, options):
    with pytest.raises(ValueError, match="must be above 0"):
        load(zoo / "recurrent", **options)


@pytest.mark.parametrize("options", [{"threads": "2"}, {"threads": 1.5}, {"sample_rate": "48000"}])
def test_load_refuses_values_of_another_type(zoo, options):
    with pytest.raises(TypeError, match="threads must be an int and sample_rate a number"):
        load(zoo / "recurrent", **options)


def test_load_refuses_a_wrong_checksum(tmp_path):
    path = graphs.delay(tmp_path / "m" / "model.onnx")
    seal(path.parent)
    assert load(path.parent).name == "m"
    sums = path.with_name("SHA256SUMS")
    sums.write_text(
        "\n".join(f"{line.split()[0].upper()}  {line.split()[1]}" for line in sums.open())
    )
    assert load(path.parent).name == "m"
    graphs.delay(path, version="other")
    for mark in (" ", "*"):  # of text and of binary files
        sums.write_text(sums.read_text().replace(" model", f"{mark}model"))
        with pytest.raises(qse.QseError, match=r"model.onnx is damaged .*SHA256SUMS"):
            load(path.parent)


def test_load_refuses_a_graph_that_is_not_listed(tmp_path):
    path = graphs.delay(tmp_path / "m" / "model.onnx")
    path.with_name("SHA256SUMS").write_text(64 * "0" + "  other.onnx\n")
    with pytest.raises(qse.QseError, match=r"model\.onnx is not listed in SHA256SUMS"):
        load(path.parent)


def test_load_verifies_before_it_loads(tmp_path, monkeypatch):
    path = graphs.delay(tmp_path / "m" / "model.onnx")
    seal(path.parent)
    path.write_bytes(path.read_bytes() + b"x")
    monkeypatch.setattr("qse.runtime.zoo.Engine", lambda *_: pytest.fail("loaded"))
    with pytest.raises(qse.QseError, match=r"model\.onnx is damaged"):
        load(path.parent)


def test_load_reports_missing_permission(tmp_path, monkeypatch):
    path = graphs.delay(tmp_path / "model.onnx")
    seal(tmp_path)
    opened = Path.open

    def refused(file, *options, **named):
        if file == path:
            raise PermissionError(13, "Permission denied", str(file))
        return opened(file, *options, **named)

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(qse.QseError, match=r"model\.onnx cannot be read: Permission denied"):
        load(path)


def test_load_refuses_a_huge_graph_before_its_checksum(tmp_path, monkeypatch):
    """A hole on the disk takes long to read."""
    (tmp_path / "model.onnx").touch()
    os.truncate(tmp_path / "model.onnx", 1 << 40)
    (tmp_path / "SHA256SUMS").write_text("0  model.onnx\n")
    monkeypatch.setattr(checksums, "sha256_of", None)
    with pytest.raises(QseError, match=r"model\.onnx .*: it is larger than 512 MiB"):
        qse.load(tmp_path)

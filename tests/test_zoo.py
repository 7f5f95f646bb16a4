"""The zoo: names, paths, wrong names and damaged files."""

from pathlib import Path

import graphs
import pytest

import qse
from qse.runtime.zoo import find, load, seal


def test_names_are_the_folders(models):
    assert {"fragile", "live-base", "recurrent"} <= set(qse.available())
    assert qse.available() == sorted(qse.available())
    assert find("live-base") == models / "live-base" / "model.onnx"
    assert load().name == "live-base"


def test_installed_models_are_found_without_any_setting(monkeypatch, tmp_path):
    import qse_models

    graphs.delay(tmp_path / "installed" / "model.onnx")
    monkeypatch.delenv("QSE_MODELS", raising=False)
    monkeypatch.setattr(qse_models, "__path__", [str(tmp_path)])
    assert qse.available() == ["installed"]


def test_a_folder_or_a_file_goes_too(zoo):
    assert load(zoo / "recurrent").name == "recurrent"
    assert load(str(zoo / "recurrent" / "model.onnx")).name == "recurrent"


def test_a_wrong_name_lists_the_right_ones(models):
    with pytest.raises(qse.QseError, match=r"no model called live-bass: .*fragile, live-base.*recurrent"):
        load("live-bass")


def test_a_file_that_disagrees_with_its_checksum_is_refused(tmp_path):
    path = graphs.delay(tmp_path / "m" / "model.onnx")
    seal(path.parent)
    assert load(path.parent).name == "m"
    sums = path.with_name("SHA256SUMS")
    sums.write_text("\n".join(f"{line.split()[0].upper()}  {line.split()[1]}" for line in sums.open()))
    assert load(path.parent).name == "m"
    graphs.delay(path, version="other")
    for mark in (" ", "*"):  # of text and of binary files
        sums.write_text(sums.read_text().replace(" model", f"{mark}model"))
        with pytest.raises(qse.QseError, match=r"model.onnx is damaged .*SHA256SUMS"):
            load(path.parent)


def test_a_graph_that_may_not_be_read_says_so(tmp_path, monkeypatch):
    path = graphs.delay(tmp_path / "model.onnx")
    seal(tmp_path)
    read = Path.read_bytes

    def refused(file):
        if file == path:
            raise PermissionError(13, "Permission denied", str(file))
        return read(file)

    monkeypatch.setattr(Path, "read_bytes", refused)
    with pytest.raises(qse.QseError, match=r"model\.onnx cannot be read: Permission denied"):
        load(path)

"""qse info: the table of the installed models."""

import os


def test_info_lists_the_models(models, command):
    status, out, _ = command("info")
    row = next(line for line in out.splitlines() if line.strip().startswith("live-base"))
    assert status == 0 and "16 kHz" in row and "20 ms" in row and "CC0-1.0" in row
    status, _, err = command("info", "weather")
    assert status == 2 and "zoo" in err


def test_names_are_whole_in_a_narrow_terminal(models, command, monkeypatch):
    """They are what other commands take."""
    monkeypatch.setenv("COLUMNS", "50")
    _, out, _ = command("info")
    assert any(line.startswith("live-base ") for line in out.splitlines())
    assert any(line.startswith("recurrent ") for line in out.splitlines())


def test_info_names_a_damaged_model(zoo, command, monkeypatch, tmp_path):
    (tmp_path / "a-torn-one").mkdir()
    (tmp_path / "a-torn-one/model.onnx").write_bytes(b"torn")
    monkeypatch.setenv("QSE_MODELS", f"{tmp_path}{os.pathsep}{zoo}")
    status, out, err = command("info")
    assert status == 1 and "recurrent" in out and "a-torn-one" not in out
    assert "a-torn-one/model.onnx" in err and err.count("\n") == 1

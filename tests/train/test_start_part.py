"""The part with code and first weights."""

import base64
import csv
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("torch")

from qse.audio import atomic_write
from qse.errors import QseError
from qse.train import start_part

INFO = "qse_speech-0.1.0.dist-info"
METADATA = "Metadata-Version: 2.1\nName: qse-speech\nVersion: 0.1.0\n"
FILES = {
    "qse/__init__.py": "x = 1\n",
    "qse/web/__init__.py": "",
    "qse/web/engine.js": "page",
    "qse_models/live-tiny/config.toml": "",
    "qse_models/live-tiny/model.onnx": "graph",
    "qse_models/live-tiny/weights.safetensors": "weights",
    f"{INFO}/METADATA": METADATA,
    f"{INFO}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
}


def test_wheel_without_models_can_be_installed(tmp_path):
    wheel = tmp_path / "own" / "qse_speech-0.1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    with zipfile.ZipFile(wheel, "w") as file:
        for name, text in FILES.items():
            file.writestr(name, text)
        file.writestr(f"{INFO}/RECORD", "".join(f"{name},,\n" for name in FILES))
    small = tmp_path / wheel.name
    start_part.without_models(wheel, small)
    with zipfile.ZipFile(small) as file:
        kept = set(file.namelist())
        rows = list(csv.reader(file.read(f"{INFO}/RECORD").decode().splitlines()))
        for name, checksum, size in rows[:-1]:
            data = file.read(name)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode()
            assert checksum == f"sha256={digest.rstrip('=')}" and int(size) == len(data)
    left_out = {name for name in FILES if name.endswith((".js", ".onnx", ".safetensors"))}
    assert kept == FILES.keys() - left_out | {f"{INFO}/RECORD"}
    assert {row[0] for row in rows} == kept
    target = tmp_path / "installed"
    words = ["-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target", target, small]
    subprocess.run([sys.executable, *words], check=True)
    assert (target / "qse/web/__init__.py").is_file()


@pytest.mark.slow
def test_wheel_holds_nothing_of_former_builds(tmp_path, monkeypatch):
    """Nor leaves anything in the checkout."""
    checkout = tmp_path / "checkout"
    (checkout / "build/lib").mkdir(parents=True)
    (checkout / "build/lib/former.py").touch()
    (checkout / "one.py").touch()
    (checkout / "pyproject.toml").write_text(
        '[project]\nname = "one"\nversion = "1"\n[tool.setuptools]\npy-modules = ["one"]\n'
    )
    monkeypatch.setattr(start_part, "CHECKOUT", checkout)
    monkeypatch.setattr(start_part, "DEPENDENCIES", ("tomli_w",))
    found = start_part._wheels(tmp_path, "3.12")
    (wheel,) = [path for path in found if path.name.startswith("one-")]
    with zipfile.ZipFile(wheel) as file:
        assert {"one.py"} == {name for name in file.namelist() if name.endswith(".py")}
    assert [path.name for path in (checkout / "build").rglob("*")] == ["lib", "former.py"]


def write(*options) -> None:
    with start_part.written(*options):
        pass


def test_start_holds_a_run(finished_run, tmp_path):
    run, _ = finished_run
    path = tmp_path / "out" / "start.zip"
    write(path, run)
    with zipfile.ZipFile(path) as file:
        names = {"config.toml", "checkpoint.safetensors", "train.csv", "valid.csv"}
        assert set(file.namelist()) == {f"start/{name}" for name in names}
        assert file.read("start/config.toml") == (run / "config.toml").read_bytes()
    with pytest.raises(QseError, match="exists already"):
        write(path, run)


def test_start_needs_weights(tmp_path):
    (tmp_path / "config.toml").touch()
    with pytest.raises(QseError, match=r"has no checkpoint.safetensors"):
        write(tmp_path / "start.zip", tmp_path)


def test_wheels_that_cannot_be_made_are_an_error(finished_run, tmp_path, monkeypatch):
    def failing(*_, **__):
        return subprocess.CompletedProcess([], 1, "", "first\nERROR: no such version\n")

    monkeypatch.setattr(start_part.subprocess, "run", failing)
    with pytest.raises(QseError, match=r"pip wheel failed \(ERROR: no such version\)"):
        write(tmp_path / "start.zip", finished_run[0], "9.9")
    assert list(tmp_path.iterdir()) == []


def test_a_link_in_the_folder_of_a_start_is_not_packed(finished_run, tmp_path):
    run = shutil.copytree(finished_run[0], tmp_path / "run")
    (run / "config.toml").rename(private := tmp_path / "private.toml")
    (run / "config.toml").symlink_to(private)
    with pytest.raises(QseError, match=r"config.toml: is a link"):
        write(tmp_path / "start.zip", run)
    (run / "config.toml").unlink()
    (run / "config.toml").hardlink_to(private)
    with pytest.raises(QseError, match=r"config.toml: is another file as well"):
        write(tmp_path / "start.zip", run)
    assert not (tmp_path / "start.zip").exists()


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs paths of descriptors")
def test_a_file_that_others_exchange_while_it_is_packed(finished_run, tmp_path, monkeypatch):
    run = shutil.copytree(finished_run[0], tmp_path / "run")
    wanted = (run / "checkpoint.safetensors").read_bytes()
    (private := tmp_path / "private").write_text("private")

    def exchange(at: str) -> None:
        if at == "made":
            (run / "checkpoint.safetensors").unlink()
            (run / "checkpoint.safetensors").symlink_to(private)

    monkeypatch.setattr(atomic_write, "step", exchange)
    write(tmp_path / "start.zip", run)
    with zipfile.ZipFile(tmp_path / "start.zip") as file:
        assert file.read("start/checkpoint.safetensors") == wanted


def test_files_from_before_the_first_time_of_zip_are_packed(finished_run, tmp_path):
    """As those of reproducible archives are."""
    run = shutil.copytree(finished_run[0], tmp_path / "run")
    os.utime(run / "config.toml", (0, 0))
    write(tmp_path / "start.zip", run)
    with zipfile.ZipFile(tmp_path / "start.zip") as file:
        assert file.read("start/config.toml") == (run / "config.toml").read_bytes()

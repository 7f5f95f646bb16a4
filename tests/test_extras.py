"""Optional packages obey no file of the working folder."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from qse import extras
from qse.errors import QseError
from qse.extras import need
from qse.user_folders import user_folder

PLOT = "from qse.evaluate.plot import _figure; _figure(1, 1)"


def test_settings_of_matplotlib_in_the_working_folder(tmp_path):
    """Older versions evaluate the colours as code; all of them start latex if it is asked for."""
    pytest.importorskip("matplotlib")
    pytest.importorskip("pesq")
    (tmp_path / "matplotlibrc").write_text("savefig.facecolor: red\n")
    line = [sys.executable, "-P", "-c", PLOT]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True)
    assert "QseError: matplotlibrc in the working folder could make matplotlib run" in done.stderr
    (tmp_path / "matplotlibrc").unlink()
    assert subprocess.run(line, cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("package", extras.OBEYED)
def test_every_package(tmp_path, monkeypatch, package):
    monkeypatch.delitem(sys.modules, package, raising=False)
    monkeypatch.setattr(extras, "import_module", lambda name: name)
    monkeypatch.setattr(extras, "_hide_settings_from_numba", lambda: None)
    monkeypatch.setattr(extras, "_forget_settings", lambda module: None)
    monkeypatch.chdir(tmp_path)
    assert need(f"{package}.part") == f"{package}.part"
    (tmp_path / extras.OBEYED[package]).symlink_to("elsewhere")
    with pytest.raises(QseError, match=f"make {package} run commands"):
        need(f"{package}.part")


def test_numba_never_reads_settings(tmp_path, monkeypatch):
    """Others may put the file there after it was looked for: numba looks again at each function
    that it compiles, and would load code from the folder that is named."""
    config = pytest.importorskip("numba.core.config")
    settings = SimpleNamespace(safe_load=lambda file: {"cache_dir": file.read().strip()})
    monkeypatch.setattr(config, "yaml", settings, raising=False)
    monkeypatch.setattr(config, "_HAVE_YAML", True)
    monkeypatch.setitem(sys.modules, "librosa", None)
    monkeypatch.chdir(tmp_path)
    extras._hide_settings_from_numba()
    (tmp_path / ".numba_config.yaml").write_text("of others")
    with pytest.warns(UserWarning, match="YAML parsing"):
        config.reload_config()
    assert config.CACHE_DIR != "of others"


def test_settings_that_matplotlib_has_read_meanwhile_are_forgotten(tmp_path, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    (tmp_path / "matplotlibrc").write_text("lines.linewidth: 7\n")
    monkeypatch.setattr(matplotlib, "get_configdir", lambda: str(tmp_path))
    with matplotlib.rc_context({"text.usetex": True}):
        extras._forget_settings(matplotlib)
        assert not matplotlib.rcParams["text.usetex"]
        assert matplotlib.rcParams["lines.linewidth"] == 7  # of the user's own file


def test_pytorch_is_given_a_folder_of_the_user(tmp_path):
    """Its own place lies among temporary files, under a name that others can take before."""
    pytest.importorskip("torch")
    code = "import os, qse.networks; print(os.environ['TORCHINDUCTOR_CACHE_DIR'])"
    own = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    own.pop("TORCHINDUCTOR_CACHE_DIR", None)
    line = [sys.executable, "-c", code]
    shown = subprocess.run(line, env=own, capture_output=True, text=True, check=True).stdout
    assert shown.strip() == str(tmp_path / "qse" / "compiled")
    assert not list(tmp_path.glob("torchinductor*"))


def test_without_a_home_folder(tmp_path, monkeypatch):
    """Packages then take a folder `~` in the working folder, with code that others may have put
    there, for the home folder."""
    monkeypatch.setattr(extras, "import_module", lambda name: name)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    monkeypatch.delitem(sys.modules, "librosa", raising=False)
    with pytest.raises(QseError, match="librosa needs a home folder"):
        need("librosa")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    with pytest.raises(QseError, match="XDG_CACHE_HOME"):
        user_folder("XDG_CACHE_HOME", ".cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert user_folder("XDG_CACHE_HOME", ".cache") == tmp_path

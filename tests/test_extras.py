"""Optional packages obey no file of the working folder."""

import subprocess
import sys

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
    monkeypatch.chdir(tmp_path)
    assert need(f"{package}.part") == f"{package}.part"
    (tmp_path / extras.OBEYED[package]).symlink_to("elsewhere")
    with pytest.raises(QseError, match=f"make {package} run commands"):
        need(f"{package}.part")


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

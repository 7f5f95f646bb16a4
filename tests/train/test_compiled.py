"""Compiled code is kept where no other user can put any."""

import os
import stat
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from torch._inductor.runtime.cache_dir_utils import cache_dir, default_cache_dir

from qse.errors import QseError
from qse.train.compiled import CACHE, compile_in_place


@pytest.fixture
def network(monkeypatch):
    monkeypatch.delenv(CACHE, raising=False)
    monkeypatch.setattr(torch.nn.Module, "compile", lambda self: None)
    yield torch.nn.Linear(1, 1)
    os.environ.pop(CACHE, None)


def test_cache_is_private(network, monkeypatch, tmp_path):
    home = tmp_path / "home"
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    compile_in_place(network)
    assert os.environ[CACHE] == str(home / "qse" / "compiled")
    assert stat.S_IMODE((home / "qse" / "compiled").stat().st_mode) == 0o700


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows has no such permissions")
@pytest.mark.parametrize("mode", [0o755, 0o777])
def test_cache_that_pytorch_has_named(network, monkeypatch, tmp_path, mode):
    """While it is imported: a folder of a known name, which another user may have made."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    Path(cache_dir()).chmod(mode)
    if mode == 0o755:
        compile_in_place(network)
        assert os.environ[CACHE].startswith(str(tmp_path))
        return
    with pytest.raises(QseError, match="others could exchange the compiled code"):
        compile_in_place(network)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows has no such permissions")
def test_cache_in_a_folder_of_others_is_refused(network, monkeypatch, tmp_path):
    (home := tmp_path / "home").mkdir()
    home.chmod(0o777)
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    with pytest.raises(QseError, match="others could exchange the compiled code"):
        compile_in_place(network)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows has no such permissions")
def test_headers_in_a_folder_of_others_are_refused(network, monkeypatch, tmp_path):
    """PyTorch keeps them in its own folder, whatever CACHE names."""
    monkeypatch.setenv(CACHE, str(tmp_path / "named"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (folder := Path(default_cache_dir())).mkdir()
    folder.chmod(0o777)
    with pytest.raises(QseError, match=r"others could exchange the compiled code there; .*TMPDIR"):
        compile_in_place(network)
    folder.rmdir()
    compile_in_place(network)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_cache_that_was_named_is_kept(network, monkeypatch):
    monkeypatch.setenv(CACHE, "/named")
    compile_in_place(network)
    assert os.environ[CACHE] == "/named"

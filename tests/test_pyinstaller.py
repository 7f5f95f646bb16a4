"""The hooks that a frozen program needs are found, and collect models and modules that are imported
by name."""

import runpy
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_hook_folder_is_an_entry_point():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    module, _, name = project["project"]["entry-points"]["pyinstaller40"]["hook-dirs"].partition(
        ":"
    )
    (folder,) = getattr(import_module(module), name)()
    assert {path.name for path in Path(folder).glob("hook-*.py")} == {
        "hook-qse.py",
        "hook-qse.networks.py",
        "hook-qse_cli.py",
    }
    assert module in project["tool"]["setuptools"]["packages"]


def test_hooks_collect_what_configurations_name():
    hook = runpy.run_path(str(ROOT / "qse/pyinstaller/hook-qse.networks.py"))
    assert {"qse_papers.networks.offline", "qse_papers.nn.lru"} <= set(hook["hiddenimports"])


def test_hooks_collect_models_and_modules():
    pytest.importorskip("PyInstaller")
    hook = runpy.run_path(str(ROOT / "qse/pyinstaller/hook-qse.py"))
    assert {"qse.runtime.engine", "qse.audio.reader", "qse_models"} <= set(hook["hiddenimports"])
    assert not any(name.startswith(("qse.nn", "qse.train")) for name in hook["hiddenimports"])
    assert any(place.endswith("model.onnx") for place, _ in hook["datas"])
    hook = runpy.run_path(str(ROOT / "qse/pyinstaller/hook-qse_cli.py"))
    assert {"qse_cli.denoise", "qse_recipes"} <= set(hook["hiddenimports"])

"""The API reference is what the docstrings say, and is made without any package."""

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from reference import PACKAGES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference.md").read_text(encoding="utf-8")
LIBRARIES = [name for name in PACKAGES if not name.startswith("qse.integrations.")]


def test_committed_reference_is_what_the_tool_writes_without_any_package(tmp_path):
    """-S leaves out all installed packages, PyTorch and NumPy among them."""
    target = tmp_path / "reference.md"
    line = [sys.executable, "-I", "-S", str(ROOT / "tools/reference.py"), str(target)]
    subprocess.run(line, check=True, timeout=60)
    assert target.read_text(encoding="utf-8") == PAGE, "run python tools/reference.py"


@pytest.mark.parametrize("package", [*LIBRARIES, "qse.integrations.pcm"])
def test_every_public_name_stands_there_with_what_python_knows_of_it(package):
    if package not in ("qse", "qse.integrations.pcm"):
        pytest.importorskip("torch")
    module = importlib.import_module(package)
    sections = dict(re.findall(r"^### `(\S+)`\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL))
    for name in module.__all__:
        section = sections[f"{package}.{name}"]
        value = getattr(module, name)
        if "The same as" in section or not (inspect.isclass(value) or inspect.isfunction(value)):
            continue
        docstring = inspect.getdoc(value) or ""
        assert squeezed(docstring) in squeezed(section)
        if inspect.isclass(value) and "__init__" not in vars(value):
            continue  # that of its base
        parameters = set(inspect.signature(value).parameters) - {"args", "kwargs"}  # of a protocol
        for parameter in parameters:
            assert re.search(rf"\b{parameter}\b", section), (name, parameter)


def squeezed(text: str) -> str:
    """Return a text with single spaces between its words."""
    return " ".join(text.split())

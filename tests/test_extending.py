"""The program of docs/extending.md runs as it stands, and what it shows is true; public names can
be imported."""

import ast
import contextlib
import io
import re
import subprocess
import sys
from importlib import import_module
from inspect import isclass, isroutine
from itertools import chain
from pathlib import Path
from types import ModuleType

import pytest

from qse.evaluate.metrics import METRICS
from qse.evaluate.scoring import score_pair

ROOT = Path(__file__).parent.parent
PROGRAM = re.findall(r"```python\n(.*?)```", (ROOT / "docs/extending.md").read_text(), re.DOTALL)
PACKAGES = ("nn", "networks", "losses", "data", "train", "export", "evaluate")


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    """Return the names of the program after it ran in an empty folder, as a module; `printed`: what
    it said."""
    pytest.importorskip("torch")
    pytest.importorskip("onnx")
    module = ModuleType("extending")
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("notebook"))
        patch.setitem(sys.modules, "extending", module)
        with contextlib.redirect_stdout(said):
            for number, cell in enumerate(PROGRAM):
                exec(compile(cell, f"extending.md, cell {number}", "exec"), vars(module))
        module.printed = said.getvalue()
        yield module
    METRICS.pop("level")


def test_program_trains(notebook):
    lines = (Path("runs/small/train.csv")).read_text().splitlines()
    assert "envelope" in lines[0] and len(lines) == 2
    rows = {row["name"]: row for row in notebook.scores.rows}
    assert rows["tone"]["si_sdr"] > rows["tone"]["noisy_si_sdr"] + 1


def test_program_streams(notebook):
    import torch

    from qse.nn import contract

    layer = notebook.Leaky(3)
    contract.verify_stream(layer, torch.randn(2, 11, 4, 3), dim=1)
    network = notebook.Small(notebook.SmallConfig())
    contract.verify_stream(network, 0.3 * torch.randn(1, 11 * 64), dim=1, unit=64)
    contract.verify_stream(notebook.product, 0.3 * torch.randn(1, 11 * 32), dim=1, unit=32)
    assert network.latency == 64
    torch.testing.assert_close(torch.cat(notebook.hops, 1), notebook.whole, rtol=0, atol=1e-5)


def test_program_denoises_with_the_exported_graph(notebook):
    assert notebook.engine.name == "small" and notebook.denoised.shape == (8000,)
    found = score_pair(
        clean=notebook.clean[0].numpy(), enhanced=notebook.denoised, metrics=["si_sdr"]
    )
    assert found["si_sdr"] == pytest.approx(notebook.scores.means["si_sdr"], abs=0.05)
    assert len(notebook.block) == 480


def test_program_names_the_layer_without_a_real_form(notebook):
    assert (
        "layer gated (Unknown) has quaternion weights (value, gate) and no real form"
        in notebook.printed
    )


@pytest.mark.parametrize("name", PACKAGES)
def test_public_names_exist(name):
    pytest.importorskip("torch")
    package = import_module(f"qse.{name}")
    assert sorted(package.__all__) == sorted(set(package.__all__))
    for public in package.__all__:
        assert not isinstance(getattr(package, public), ModuleType), (
            f"qse.{name}.{public} is a module"
        )
    places = getattr(package, "MODULES", None)
    if places and name != "networks":
        assert sorted(chain.from_iterable(places.values())) == sorted(package.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        getattr(package, "Nothing")  # noqa: B009


@pytest.mark.parametrize("name", ["", *PACKAGES])
def test_public_names_are_explained(name):
    """A dataclass without a docstring gets its signature as one, which explains nothing."""
    pytest.importorskip("torch")
    package = import_module(f"qse.{name}" if name else "qse")
    for public in package.__all__:
        value = getattr(package, public)
        if isclass(value) or isroutine(value):
            text = value.__doc__ or ""
            assert text and not text.startswith(f"{public}("), f"{package.__name__}.{public}"


@pytest.mark.parametrize("name", ["data", "train", "export", "evaluate"])
def test_packages_import_nothing_heavy(name):
    heavy = {"torch", "onnx", "pesq"}
    code = f"import sys, qse, qse.{name}; sys.exit(bool({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", ["data", "train", "export", "evaluate"])
def test_editors_see_the_names_that_are_imported_on_first_access(name):
    package = import_module(f"qse.{name}")
    seen = {}
    for node in ast.walk(ast.parse(Path(package.__file__).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            seen["." * node.level + node.module] = [alias.name for alias in node.names]
    assert seen.pop("..public_names") == ["lazily"]
    assert seen == {place: sorted(names) for place, names in package.MODULES.items()}


@pytest.mark.parametrize(
    ("line", "package"),
    [("from qse.nn import QuaternionLinear", "torch"), ("from qse.train import train", "torch")],
)
def test_missing_torch_is_one_sentence(line, package):
    code = f"import sys; sys.modules['torch'] = None; {line}"
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert ended.stderr.splitlines()[-1].endswith(f'{package}: pip install "qse-speech[train]"')

"""The structure of the package: imports in one direction, and files and functions of limited
length."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles

import pytest

from qse import laboratory

ROOT = Path(__file__).parents[1]
FACADE = "qse/__init__.py"  # fetches public names when they are asked for, so nothing depends on it
TABLE = "qse/laboratory.py"
PACKAGE = [path.relative_to(ROOT) for path in sorted(ROOT.glob("qse/**/*.py"))]
PAPERS = [path.relative_to(ROOT) for path in sorted(ROOT.glob("papers/**/*.py"))]
COMMANDS = [path.relative_to(ROOT) for path in sorted(ROOT.glob("cli/*.py"))]
OPTION = re.compile(r"(?<!\S)(--(?!set\b)[a-z]|-o\b)")
COMMAND = re.compile(r"\bqse [a-z]+ -")  # a line to run may have options


def imported(path: Path) -> Iterator[Path]:
    """Yield the files of qse that a file imports, also in functions and under TYPE_CHECKING."""
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if not isinstance(node, ast.ImportFrom):
            continue
        module = node.module or ""
        if not node.level and not module.startswith("qse."):
            continue
        parts = path.parts[: -node.level] if node.level else ()
        base = Path(*parts, *filter(None, module.split(".")))
        for name in node.names:
            yield from imported_file(base, name.name)


def imported_file(base: Path, name: str) -> list[Path]:
    """Return the file that `from base import name` reads, in a list; an empty one if it is not of
    qse."""
    candidates = (
        base / f"{name}.py",
        base / name / "__init__.py",
        base.with_suffix(".py"),
        base / "__init__.py",
    )
    return [path for path in candidates if (ROOT / path).is_file()][:1]


def file_graph(files: list[Path]) -> dict[str, set[str]]:
    """Return which files each file imports."""
    graph = {}
    for path in files:
        graph[str(path)] = set(map(str, imported(path)))
    return graph


def folder_graph(files: list[Path]) -> dict[str, set[str]]:
    """Return which folders each folder imports from; the modules of `qse/` are the base of all
    others."""
    graph = defaultdict(set)
    for path in files:
        for other in imported(path):
            if str(path) != FACADE and other.parent not in (path.parent, Path("qse")):
                graph[str(path.parent)].add(str(other.parent))
    return graph


def cycle(graph: dict[str, set[str]]) -> list[str]:
    """Return a cycle of nodes, or an empty list."""
    finished: set[str] = set()

    def visit(node: str, trail: list[str]) -> list[str]:
        if node in trail:
            return [*trail[trail.index(node) :], node]
        if node in finished:
            return []
        for other in sorted(graph.get(node, ())):
            found = visit(other, [*trail, node])
            if found:
                return found
        finished.add(node)
        return []

    for node in sorted(graph):
        found = visit(node, [])
        if found:
            return found
    return []


def laboratory_references() -> list[str]:
    """Return all references of the table of the laboratory."""
    references: list[str] = []
    for table in ("NETWORKS", "TIME_MIXERS", "BAND_ATTENTION", "BENCHMARKS"):
        references.extend(getattr(laboratory, table).values())
    return references


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse((ROOT / path).read_text())
    yield from (
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def test_files_have_no_cycle():
    assert cycle(file_graph([*PACKAGE, *PAPERS, *COMMANDS])) == []


def test_folders_have_no_cycle():
    assert cycle(folder_graph([*PACKAGE, *PAPERS])) == []


def test_base_modules_import_no_folder():
    base = [path for path in PACKAGE if path.parent == Path("qse") and str(path) != FACADE]
    for path in base:
        assert {other.parent for other in imported(path)} <= {Path("qse")}, path


def test_package_names_the_laboratory_in_one_table():
    laboratory_name = re.compile(r"qse_papers|^\s*(?:from|import) papers\b", re.MULTILINE)
    named = [str(path) for path in PACKAGE if laboratory_name.search((ROOT / path).read_text())]
    assert named == [TABLE]


@pytest.mark.parametrize("reference", laboratory_references())
def test_names_of_the_laboratory_are_found(reference):
    """As text: importing them needs PyTorch."""
    module, _, name = reference.partition(":")
    file = ROOT / module.replace("qse_papers", "papers").replace(".", "/")
    tree = ast.parse(file.with_suffix(".py").read_text())
    assert name in [getattr(node, "name", "") for node in tree.body]


def test_commands_import_of_the_laboratory_nothing_but_its_names():
    """At their top; the light half never imports the rest."""
    for path in COMMANDS:
        for node in ast.walk(ast.parse((ROOT / path).read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                source = ast.unparse(node)
                assert "qse_papers" not in source or source == "import qse_papers", path


def test_cycle_is_found():
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]


def test_imported_resolves_relative_and_absolute_names():
    assert Path("qse/runtime/engine.py") in set(imported(Path("qse/runtime/zoo.py")))
    assert Path("qse/errors.py") in set(imported(Path("cli/denoise.py")))


@pytest.mark.parametrize("path", [*PACKAGE, *COMMANDS, *PAPERS], ids=str)
def test_file_has_at_most_250_lines(path):
    lines = len((ROOT / path).read_text().splitlines())
    assert lines <= 250, f"{path}: {lines} lines; move a part to a file of its own"


def test_median_file_has_at_most_100_lines():
    assert (
        median(
            len((ROOT / path).read_text().splitlines())
            for path in (*PACKAGE, *PAPERS)
            if path.name != "__init__.py"
        )
        <= 100
    )


def test_function_lengths():
    lengths = {}
    bodies = []
    for path in (*PACKAGE, *COMMANDS, *PAPERS):
        for node in functions(path):
            lengths[f"{path}:{node.name}"] = node.end_lineno - node.lineno + 1
            bodies.append(node.end_lineno - node.body[0].lineno + 1)
    assert {name: length for name, length in lengths.items() if length > 60} == {}
    assert quantiles(bodies, n=10)[-1] <= 18


def test_functions_have_at_most_8_parameters():
    many = {}
    for path in (*PACKAGE, *PAPERS):
        for node in functions(path):
            if any("triton.jit" in ast.unparse(decorator) for decorator in node.decorator_list):
                continue  # a kernel names every tensor and size
            arguments = node.args
            names = [
                a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
            ]
            if len([name for name in names if name not in ("self", "cls")]) > 8:
                many[f"{path}:{node.name}"] = len(names)
    assert many == {}


def test_errors_of_the_library_name_no_options():
    """The command line turns parameters into options; `--set` alone gives a key of a recipe."""
    named = [
        f"{path}:{text.lineno}: {text.value}"
        for path in PACKAGE
        for error in raised(path)
        for text in ast.walk(error)
        if isinstance(text, ast.Constant)
        and OPTION.search(str(text.value))
        and not COMMAND.search(str(text.value))
    ]
    assert not named


def raised(path: Path) -> Iterator[ast.AST]:
    """Yield the errors that a file raises, and the cures that it names before."""
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Raise):
            yield node
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "cure":
            yield node

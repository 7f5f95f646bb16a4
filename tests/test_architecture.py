"""The structure of the package: folders depend on each other in one direction, and nothing grows without bound."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles

import pytest

ROOT = Path(__file__).parents[1]
FACADE = "qse/__init__.py"  # fetches public names when they are asked for, so nothing depends on it
PACKAGE = [path.relative_to(ROOT) for path in sorted(ROOT.glob("qse/**/*.py"))]
COMMANDS = [path.relative_to(ROOT) for path in sorted(ROOT.glob("cli/*.py"))]


def imported(path: Path) -> Iterator[Path]:
    """Yield the files of the package that a file imports, inside functions as well."""
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.ImportFrom) and (
            node.level or (node.module or "").startswith("qse.")
        ):
            parts = path.parts[: -node.level] if node.level else ()
            base = Path(*parts, *(node.module or "").split(".")) if node.module else Path(*parts)
            for name in node.names:
                candidates = (
                    base / f"{name.name}.py",
                    base / name.name / "__init__.py",
                    base.with_suffix(".py"),
                )
                yield from [
                    each for each in (*candidates, base / "__init__.py") if (ROOT / each).is_file()
                ][:1]


def folder_graph(files: list[Path]) -> dict[str, set[str]]:
    """Return which folders each folder imports from; the modules of `qse/` itself are the base of all others."""
    graph = defaultdict(set)
    for path in files:
        for other in imported(path):
            if str(path) != FACADE and other.parent not in (path.parent, Path("qse")):
                graph[str(path.parent)].add(str(other.parent))
    return graph


def cycle(graph: dict[str, set[str]]) -> list[str]:
    """Return a cycle of folders, or an empty list."""
    finished: set[str] = set()

    def visit(folder: str, trail: list[str]) -> list[str]:
        if folder in trail:
            return [*trail[trail.index(folder) :], folder]
        if folder in finished:
            return []
        for other in sorted(graph.get(folder, ())):
            if found := visit(other, [*trail, folder]):
                return found
        finished.add(folder)
        return []

    return next((found for folder in sorted(graph) if (found := visit(folder, []))), [])


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse((ROOT / path).read_text())
    yield from (
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def test_folders_have_no_cycle():
    assert cycle(folder_graph(PACKAGE)) == []


def test_base_modules_import_no_folder():
    base = [path for path in PACKAGE if path.parent == Path("qse") and str(path) != FACADE]
    assert {
        str(path): str(other)
        for path in base
        for other in imported(path)
        if other.parent != Path("qse")
    } == {}


def test_cycle_is_found():
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]


def test_imported_resolves_relative_and_absolute_names():
    assert Path("qse/runtime/engine.py") in set(imported(Path("qse/runtime/zoo.py")))
    assert Path("qse/errors.py") in set(imported(Path("cli/denoise.py")))


@pytest.mark.parametrize("path", [*PACKAGE, *COMMANDS], ids=str)
def test_file_has_at_most_250_lines(path):
    assert len((ROOT / path).read_text().splitlines()) <= 250


def test_median_file_has_at_most_100_lines():
    assert (
        median(
            len((ROOT / path).read_text().splitlines())
            for path in PACKAGE
            if path.name != "__init__.py"
        )
        <= 100
    )


def test_function_lengths():
    lengths = {
        f"{path}:{node.name}": node.end_lineno - node.body[0].lineno + 1  # without the signature
        for path in (*PACKAGE, *COMMANDS)
        for node in functions(path)
    }
    assert {name: length for name, length in lengths.items() if length > 60} == {}
    assert quantiles(lengths.values(), n=10)[-1] <= 18


def test_functions_have_at_most_8_parameters():
    many = {}
    for path in PACKAGE:
        for node in functions(path):
            arguments = node.args
            names = [
                a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
            ]
            if len([name for name in names if name not in ("self", "cls")]) > 8:
                many[f"{path}:{node.name}"] = len(names)
    assert many == {}

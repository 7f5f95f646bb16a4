"""Write the API reference, docs/reference.md: the signatures and docstrings of the public names as
they stand in the source. Nothing is imported, so it needs neither PyTorch nor any other package.

python tools/reference.py [FILE]     FILE instead of docs/reference.md
"""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = (
    "qse",
    "qse.integrations.pcm",
    "qse.integrations.g711",
    "qse.integrations.stream_group",
    "qse.integrations.pipecat",
    "qse.integrations.livekit",
    "qse.integrations.ray",
    "qse.evaluate",
    "qse.train",
    "qse.data",
    "qse.losses",
    "qse.networks",
    "qse.nn",
    "qse.export",
)
LONGEST = 12  # lines of a table that is shown with its values
BEGINNING = """# API reference

The public names, with their signatures and docstrings as they stand in the source;
`python tools/reference.py` writes this page. [CHANGELOG.md](../CHANGELOG.md#versions) says what
version numbers promise about them. `qse` and `qse.integrations` need no PyTorch. A package that
needs an extra names it when it is missing.

| package | names |
|---|---|
"""

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """A file of Python, read and not run."""

    path: Path
    name: str  # such as "qse.nn.linear"
    lines: tuple[str, ...]
    tree: ast.Module

    @property
    def package(self) -> str:
        """Return the name from which its relative imports start."""
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]

    def text(self, first: int, last: int) -> str:
        """Return its lines `first` to `last`, counted from 1."""
        return "\n".join(self.lines[first - 1 : last])


@cache
def read(name: str) -> Module:
    """Read the module of a name, such as "qse.nn"."""
    folder = ROOT.joinpath(*name.split("."))
    path = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    text = path.read_text(encoding="utf-8")
    return Module(path, name, tuple(text.splitlines()), ast.parse(text))


def public_names(module: Module) -> list[str]:
    """Return the names of `__all__`; of a module without it its public classes."""
    for node in module.tree.body:
        if isinstance(node, ast.Assign) and assigned(node) == "__all__":
            return list(ast.literal_eval(node.value))
    classes = [node.name for node in module.tree.body if isinstance(node, ast.ClassDef)]
    return [name for name in classes if not name.startswith("_")]


def assigned(node: ast.stmt) -> str:
    """Return the name to which a statement assigns or that it defines, "" if it does neither."""
    if isinstance(node, ast.Assign):
        target: ast.expr = node.targets[0]
    elif isinstance(node, ast.AnnAssign):
        target = node.target
    else:
        return getattr(node, "name", "")
    return target.id if isinstance(target, ast.Name) else ""


def definition(module: Module, name: str) -> tuple[Module, Definition]:
    """Find what a public name stands for, through imports and tables of lazy names."""
    for node in reversed(module.tree.body):  # the last one of a function with overloads
        if isinstance(node, Definition) and assigned(node) == name:
            return module, node
    for place, names in imports(module):
        if name in names:
            return definition(read(place), name)
    raise LookupError(f"{module.path} neither defines nor imports {name}")


def imports(module: Module) -> Iterator[tuple[str, list[str]]]:
    """Yield the modules of the package from which a module takes names, with the names."""
    for node in module.tree.body:
        if isinstance(node, ast.ImportFrom) and node.level:
            place = absolute(module, "." * node.level + (node.module or ""))
            yield place, [alias.name for alias in node.names]
        elif isinstance(node, ast.Assign) and assigned(node) == "MODULES":
            for key, value in ast.literal_eval(node.value).items():
                if isinstance(value, list):
                    yield absolute(module, key), value
                else:  # of qse itself: the module of a name
                    yield absolute(module, f".{value}"), [key]


def absolute(module: Module, relative: str) -> str:
    """Return the name of a module that another one imports as `relative`, such as "..errors"."""
    name = relative.lstrip(".")
    parts = module.package.split(".")
    up = len(relative) - len(name) - 1
    return ".".join([*parts[: len(parts) - up], *filter(None, [name])])


def shown(module: Module, node: Definition) -> str:
    """Return a definition without the bodies of its functions."""
    if isinstance(node, Function):
        return head(module, node)
    if isinstance(node, ast.ClassDef):
        return head(module, node) + members(module, node)
    last = node.end_lineno or node.lineno
    if last - node.lineno < LONGEST or not isinstance(node.value, ast.Dict):
        return module.text(first_line(module, node), last)
    keys = [f"    {ast.unparse(key)}: ...,\n" for key in node.value.keys if key]
    return f"{assigned(node)} = {{\n{''.join(keys)}}}"


def members(module: Module, node: ast.ClassDef) -> str:
    """Return the fields, the constructor and the public methods of a class."""
    text = ""
    after_field = False
    for member in node.body:
        name = assigned(member)
        if not isinstance(member, Definition) or (name.startswith("_") and name != "__init__"):
            continue
        is_field = isinstance(member, ast.Assign | ast.AnnAssign)
        text += "\n" if is_field and after_field else "\n\n"
        text += shown(module, member)
        after_field = is_field
    return text


def head(module: Module, node: Function | ast.ClassDef) -> str:
    """Return the signature of a function or class, with its decorators and its docstring."""
    first = node.body[0]
    if ast.get_docstring(node) is not None:
        last = first.end_lineno or first.lineno
    else:  # a body may stand on the line of its signature
        last = max(first_line(module, first) - 1, node.lineno)
    return module.text(first_line(module, node), last).rstrip()


def first_line(module: Module, node: ast.stmt) -> int:
    """Return the line at which a statement begins, its decorators and comments above included."""
    decorators = getattr(node, "decorator_list", [])
    line = min([node.lineno, *[decorator.lineno for decorator in decorators]])
    while module.lines[line - 2].lstrip().startswith("#"):
        line -= 1
    return line


def section(package: str, name: str, places: dict[tuple[Path, int], str]) -> str:
    """Return the part of a public name.

    places: titles by the definitions that have been shown; this one is added.
    """
    title = f"{package}.{name}"
    module, node = definition(read(package), name)
    place = (module.path, node.lineno)
    if place in places:
        return f"### `{title}`\n\nThe same as [`{places[place]}`](#{anchor(places[place])}).\n"
    places[place] = title
    return f"### `{title}`\n\n```python\n{shown(module, node)}\n```\n"


def anchor(title: str) -> str:
    """Return the anchor of a heading."""
    return title.lower().replace(".", "")


def reference() -> str:
    """Return the page: a table of all names, then every package with its docstring."""
    rows = []
    sections = []
    places: dict[tuple[Path, int], str] = {}
    for package in PACKAGES:
        module = read(package)
        names = public_names(module)
        links = [f"[`{name}`](#{anchor(f'{package}.{name}')})" for name in names]
        rows.append(f"| [`{package}`](#{anchor(package)}) | {', '.join(links)} |\n")
        docstring = ast.get_docstring(module.tree) or ""
        sections.append(f"## `{package}`\n\n```text\n{docstring}\n```\n")
        sections += [section(package, name, places) for name in names]
    return "\n".join([BEGINNING + "".join(rows), *sections])


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs/reference.md"
    target.write_text(reference(), encoding="utf-8")

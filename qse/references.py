"""Find what a configuration names: an entry of a table, or "package.module:Name"."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from .errors import QseError
from .laboratory import PACKAGE as LABORATORY

OWN = (__package__, LABORATORY)  # packages of this distribution

_trusts: ContextVar[bool] = ContextVar("trusts", default=False)


@contextmanager
def trusting(trust: bool = True) -> Iterator[None]:
    """Let the files of runs and model folders name code outside this package meanwhile, which is
    then imported, if `trust` is set."""
    before = _trusts.set(trust)
    try:
        yield
    finally:
        _trusts.reset(before)


def is_trusting() -> bool:
    """Return whether `trusting` holds."""
    return _trusts.get()


def check_parameters(function: Callable, known: Sequence[str], name: str) -> None:
    """Raise ValueError, in which `name` is what it is, for a function that needs an argument which
    is not among `known`."""
    for key, value in signature(function).parameters.items():
        if value.default is value.empty and key not in known:
            raise ValueError(f"{name} needs {key!r}: there are {', '.join(known)}")


def check_own(table: Mapping[str, Any], path: Path) -> None:
    """Raise QseError if a value in `table`, of the file `path` of a run or a model folder, names
    code outside this package: such a file may come from anywhere."""
    if is_trusting():
        return
    for key, value in _texts(table):
        if ":" in value and not _is_own(value):  # what `find_named` would import
            raise QseError(
                f"{path}{_line_of(path, value)}: {key} = {value!r} names code outside qse, which "
                "reading this file would run: use trust=True if you trust whoever wrote it"
            )


def _texts(table: Any) -> Iterator[tuple[str, str]]:
    """Yield all texts in tables and lists, keys of tables among them, with the key under which they
    are, however deep."""
    rest: list[tuple[str, Any]] = [("", table)]
    while rest:
        key, value = rest.pop()
        if isinstance(value, str):
            yield key, value
        elif isinstance(value, Mapping):
            rest += reversed(list(value.items()))
            rest += [(key, name) for name in value if isinstance(name, str)]
        elif isinstance(value, Sequence):
            rest += [(key, inner) for inner in reversed(value)]


def _is_own(name: str) -> bool:
    """Return whether a name is that of a class that this package defines, and not one of another
    package that a module of this one has imported."""
    if name.partition(":")[0].partition(".")[0] not in OWN:
        return False
    try:
        found = find_named(name, {}, "name")
    except ValueError:
        return True  # which the reader says
    module = getattr(found, "__module__", None) or ""
    return isinstance(found, type) and module.partition(".")[0] in OWN


def _line_of(path: Path, value: str) -> str:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return next((f", line {at}" for at, line in enumerate(lines, 1) if value in line), "")


def find_named(name: str, known: Mapping[str, Any], what: str) -> Any:
    """Return the entry of `known`, or what "package.module:Name" names; an entry may be such a
    reference itself. `what` says in messages what is looked for.

    Raises ValueError for an unknown name, and for a module or a name that cannot be imported.
    """
    is_text = isinstance(name, str)  # a time of TOML has a colon, too
    entry = known.get(name, name) if is_text else ""
    if not isinstance(entry, str):
        return entry
    if ":" not in entry:
        names = ", ".join(known)
        raise ValueError(
            f"unknown {what} {name!r}; there are {names}, and your own as package.module:Class"
        )
    try:
        return imported(entry)
    except (ImportError, AttributeError, ValueError) as error:
        cure = "is its folder in PYTHONPATH, and is the name spelt as there?"
        raise ValueError(f"{what} {name!r}: cannot be imported ({error}); {cure}") from error


def imported(reference: str) -> Any:
    """Import and return what "package.module:Name" names."""
    module, _, attribute = reference.partition(":")
    found: Any = import_module(module)
    for part in attribute.split("."):
        found = getattr(found, part)
    return found


def reference_to(kind: type) -> str:
    """Return "package.module:Class" for a class, by which `find_named` finds it again."""
    return f"{kind.__module__}:{kind.__qualname__}"

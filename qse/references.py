"""Find what a configuration names: an entry of a table, or "package.module:Name"."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any


def find_named(name: str, known: Mapping[str, Any], what: str) -> Any:
    """Return the entry of `known`, or what "package.module:Name" names; `what` says in messages
    what is looked for.

    Raises ValueError for an unknown name, and for a module or a name that cannot be imported.
    """
    if isinstance(name, str) and name in known:
        return known[name]
    module, colon, attribute = str(name).partition(":")
    if not colon:
        names = ", ".join(known)
        raise ValueError(
            f"unknown {what} {name!r}; there are {names}, and your own as package.module:Class"
        )
    try:
        found: Any = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        cure = "is its folder in PYTHONPATH, and is the name spelt as there?"
        raise ValueError(f"{what} {name!r}: cannot be imported ({error}); {cure}") from error
    return found


def reference_to(kind: type) -> str:
    """Return "package.module:Class" for a class, by which `find_named` finds it again."""
    return f"{kind.__module__}:{kind.__qualname__}"

"""One sentence for an optional package that is not there, with the command that brings it."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def need(module: str, extra: str = "evaluate") -> ModuleType:
    """Import `module`, or say by ImportError which extra of qse holds it."""
    try:
        return import_module(module)
    except ImportError as reason:
        name = module.partition(".")[0]
        raise ImportError(f'this needs the package {name}: pip install "qse[{extra}]"') from reason

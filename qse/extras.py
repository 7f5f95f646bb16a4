"""One sentence for an optional package that is not there, with the command that brings it."""

from importlib import import_module
from typing import Any

from .errors import QseError


class MissingExtra(QseError, ImportError):
    """A package that only some of qse's users need is not installed; the message names the command that brings it."""


def need(module: str, extra: str = "evaluate") -> Any:
    """The module `module`, or say by MissingExtra which extra of qse holds it."""
    try:
        return import_module(module)
    except ImportError as reason:
        name = module.partition(".")[0]
        raise MissingExtra(f'this needs the package {name}: pip install "qse-speech[{extra}]"') from reason

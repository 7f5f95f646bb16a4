"""Import optional packages; name the command that installs one that is missing."""

from importlib import import_module
from typing import Any

from .errors import QseError


class MissingExtra(QseError, ImportError):
    """An optional package is not installed; the message names the command that installs it."""


def need(module: str, extra: str = "evaluate") -> Any:
    """Import and return `module`.

    Raises MissingExtra, which names `extra`, if it is not installed.
    """
    try:
        return import_module(module)
    except ImportError as reason:
        name = module.partition(".")[0]
        raise MissingExtra(
            f'this needs the package {name}: pip install "qse-speech[{extra}]"'
        ) from reason

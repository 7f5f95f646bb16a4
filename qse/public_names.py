"""Import the public names of a package when they are first used, so that importing it loads nothing
heavy."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from .errors import QseError
from .extras import MissingExtra


def lazily(
    package: str, modules: Mapping[str, Sequence[str]], extra: str = ""
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package, for its names by the module that has them,
    such as ".layers".

    extra: that the names need, for the message where PyTorch is missing.
    """
    places: dict[str, str] = {}
    for module, names in modules.items():
        places |= dict.fromkeys(names, module)

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return getattr(import_module(places[name], package), name)
        except QseError:
            raise
        except ModuleNotFoundError as error:
            if not extra or (error.name or "").partition(".")[0] == "qse":
                raise
            cure = f'pip install "qse-speech[{extra}]"'
            sentence = f"{package}.{name} needs the package {error.name}: {cure}"
            raise MissingExtra(sentence) from error

    return get, lambda: sorted(places)

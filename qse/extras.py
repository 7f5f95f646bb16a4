"""Import optional packages; name the command that installs one that is missing."""

import os
import sys
from importlib import import_module
from typing import Any

from .errors import QseError
from .user_folders import has_home

# files that packages read in the working folder, where they may be of others, like the recordings
# beside them: those of matplotlib name commands, in older versions code, those of numba (librosa)
# a folder with compiled code
OBEYED = {
    "matplotlib": "matplotlibrc",
    "librosa": ".numba_config.yaml",
    "speechmos": ".numba_config.yaml",
}


class MissingExtra(QseError, ImportError):
    """An optional package is not installed; the message names the command that installs it."""


def need(module: str, extra: str = "evaluate") -> Any:
    """Import and return `module`.

    Raises MissingExtra, which names `extra`, if it is not installed; QseError where it would obey
    a file of the working folder, or look for code in it, as there is no home folder.
    """
    _refuse_settings(module.partition(".")[0])
    try:
        return import_module(module)
    except ImportError as reason:
        name = module.partition(".")[0]
        raise MissingExtra(
            f'this needs the package {name}: pip install "qse-speech[{extra}]"'
        ) from reason


def _refuse_settings(package: str) -> None:
    name = OBEYED.get(package, "")
    if name and package not in sys.modules and not has_home():
        raise QseError(f"{package} needs a home folder, and there is none: name one by HOME")
    if name and package not in sys.modules and os.path.lexists(name):
        raise QseError(
            f"{name} in the working folder could make {package} run commands: remove it, move your "
            "own settings to your home folder, or start qse in another folder"
        )

"""Find the user's own folders."""

import os
from pathlib import Path

from .errors import QseError


def has_home() -> bool:
    """Return whether "~" stands for a folder: neither HOME nor the system names one to a user who
    is a bare number, and packages then take a folder `~` in the working folder."""
    return os.path.isabs(os.path.expanduser("~"))


def user_folder(variable: str, usual: str) -> Path:
    """Return the folder that an environment variable of the XDG base directories names, or `usual`
    in the home folder. Raises QseError where there is none."""
    if named := os.environ.get(variable):
        return Path(named)
    if not has_home():
        raise QseError(f"there is no home folder: name one by HOME, or a folder by {variable}")
    return Path.home() / usual


def compiled_folder() -> Path:
    """Return the folder for code that PyTorch compiles. Raises QseError where there is none."""
    return Path(os.path.realpath(user_folder("XDG_CACHE_HOME", ".cache"))) / "qse" / "compiled"


def cache_folder() -> Path:
    """Return the folder for what qse can make again: the environment variable QSE_CACHE, else one
    in the user's folder for caches. Raises QseError where there is none."""
    named = os.environ.get("QSE_CACHE")
    return Path(named) if named else user_folder("XDG_CACHE_HOME", ".cache") / "qse"

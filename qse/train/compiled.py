"""Compile networks, with a cache that only this user can write.

PyTorch's own place for compiled code is a folder of a known name for temporary files, where another
user could put code beforehand.
"""

import os
from pathlib import Path

from torch import nn
from torch._inductor.runtime.cache_dir_utils import default_cache_dir

from ..audio.private_folder import is_exchangeable
from ..errors import QseError
from ..extras import COMPILED as CACHE
from ..user_folders import compiled_folder, has_home

CURE = f"name a folder of your own by {CACHE}, or leave out train.compile"


def compile_in_place(network: nn.Module) -> None:
    """Compile a network, which keeps its type and its names.

    Raises QseError where others could exchange the compiled code.
    """
    named = os.environ.get(CACHE)
    if named is None or (has_home() and named == str(compiled_folder())):
        os.environ[CACHE] = str(_own_cache())
    elif named == os.path.abspath(default_cache_dir()):  # PyTorch was imported before qse
        _check(Path(named))
    network.compile()


def _own_cache() -> Path:
    """Return a folder in the user's for caches, made if it is missing."""
    folder = compiled_folder()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise QseError(f"{folder} cannot be made ({error.strerror}): {CURE}") from error
    _check(folder)
    return folder


def _check(folder: Path) -> None:
    if is_exchangeable(folder / "code"):
        raise QseError(f"{folder}: others could exchange the compiled code there; {CURE}")

"""Compile networks, with a cache that only this user can write.

PyTorch's own place for compiled code is a folder of a known name for temporary files, where another
user could put code beforehand. It keeps headers and tables there even where another one is named.
"""

import os
from pathlib import Path

from torch import nn
from torch._inductor.runtime.cache_dir_utils import default_cache_dir

from ..audio.private_folder import is_exchangeable
from ..errors import QseError
from ..extras import COMPILED as CACHE
from ..user_folders import compiled_folder, has_home

CURE = "name a folder of your own by {}, or leave out train.compile"


def compile_in_place(network: nn.Module) -> None:
    """Compile a network, which keeps its type and its names.

    Raises QseError where others could exchange the compiled code.
    """
    named = os.environ.get(CACHE)
    if named is None or (has_home() and named == str(compiled_folder())):
        os.environ[CACHE] = str(_own(compiled_folder(), CACHE))
    _own(Path(os.path.abspath(default_cache_dir())), "TMPDIR")
    network.compile()


def _own(folder: Path, variable: str) -> Path:
    """Return a folder in which nobody else can exchange files, made if it is missing; `variable`
    names it. Raises QseError where others can."""
    cure = CURE.format(variable)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise QseError(f"{folder} cannot be made ({error.strerror}): {cure}") from error
    if is_exchangeable(folder / "code"):
        raise QseError(f"{folder}: others could exchange the compiled code there; {cure}")
    return folder

"""Import optional packages; name the command that installs one that is missing."""

import os
import sys
from importlib import import_module
from typing import Any

from .errors import QseError
from .user_folders import compiled_folder, has_home

# files that packages read in the working folder, where they may be of others, like the recordings
# beside them: those of matplotlib name commands, in older versions code, those of numba (librosa)
# a folder with compiled code
NUMBA = ".numba_config.yaml"
OBEYED = {"matplotlib": "matplotlibrc", "librosa": NUMBA, "speechmos": NUMBA}
COMPILED = "TORCHINDUCTOR_CACHE_DIR"  # of PyTorch, for compiled code


class MissingExtra(QseError, ImportError):
    """An optional package is not installed; the message names the command that installs it."""


def need(module: str, extra: str = "evaluate") -> Any:
    """Import and return `module`.

    Raises MissingExtra, which names `extra`, if it is not installed; QseError where it would obey
    a file of the working folder, or look for code in it, as there is no home folder.
    """
    package = module.partition(".")[0]
    _refuse_settings(package)
    if package == "torch" and has_home():
        # its own place is a folder of a known name for temporary files, in which it also looks for
        # settings; parts of it set the variable while they are imported, and keep to it
        os.environ.setdefault(COMPILED, str(compiled_folder()))
    is_new = package not in sys.modules
    if OBEYED.get(package) == NUMBA:
        _hide_settings_from_numba()
    try:
        found = import_module(module)
        if package == "matplotlib" and is_new:
            _forget_settings(import_module(package))
        return found
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


def _hide_settings_from_numba() -> None:
    """Let numba find no file of settings in the working folder, where it looks again and again: it
    reads none without PyYAML."""
    before = sys.modules.get("yaml")
    sys.modules["yaml"] = None  # type: ignore[assignment]
    try:
        config: Any = import_module("numba.core.config")
    except ImportError:  # which the package that needs it says
        return
    finally:
        del sys.modules["yaml"]
        if before:
            sys.modules["yaml"] = before
    config._HAVE_YAML = False


def _forget_settings(matplotlib: Any) -> None:
    """Forget what matplotlib may have read in the working folder, where others may have put a file
    meanwhile; read that of the user."""
    matplotlib.rcdefaults()
    own = os.path.join(matplotlib.get_configdir(), "matplotlibrc")
    if os.path.isfile(own):
        matplotlib.rc_file(own)

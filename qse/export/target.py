"""Decide whether a model may be written to a folder, and write it there at once."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import qse_models

from ..audio.claim import held
from ..audio.replaced_folder import real_folder, replaced_folder
from ..errors import QseError
from ..model_folder import CARD, CHECKPOINT, CHECKSUMS, CONFIG, GRAPH, GRAPHS, WEIGHTS

OF_A_MODEL = frozenset({CARD, CHECKPOINT, CHECKSUMS, CONFIG, *GRAPHS, WEIGHTS[0]})


def check_target(folder: Path, overwrite: bool) -> None:
    """Raise QseError where `folder` is no place for a model.

    Such are: a file; a run; a folder inside an installed package; a folder that holds anything,
    unless it is a model's and `overwrite` is true.
    """
    if folder.exists() and not folder.is_dir():
        raise QseError(f"{folder}: is a file; name a folder for the model")
    if (folder / "train.csv").exists():
        raise QseError(
            f"{folder}: is a run, which the model would replace; name another folder for the model"
        )
    if _is_installed(folder):
        raise QseError(
            f"{folder}: belongs to the installed package; name a folder of your own, "
            "which QSE_MODELS adds to the names of models"
        )
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    if not (folder / GRAPH).is_file():
        raise QseError(f"{folder}: holds files, but no model; name an empty or a new folder")
    if not overwrite:
        raise QseError(
            f"{folder}: holds a model already; name another folder, or use overwrite=True"
        )


@contextmanager
def model_target(folder: Path) -> Iterator[Path]:
    """Yield an empty folder that takes the place of `folder` at the end; files in it that no
    release writes are kept.

    Raises QseError while another process writes the same folder, and where it cannot be written.
    """
    taken = QseError(f"{folder}: another process writes this model; wait for its end")
    try:
        target = real_folder(folder)
        with held(target, taken), replaced_folder(target, OF_A_MODEL) as new:
            yield new
    except OSError as error:
        reason = error.strerror or error
        raise QseError(f"{folder}: cannot be written ({reason}); name another folder") from error


def _is_installed(folder: Path) -> bool:
    """Return whether `folder` lies among the installed models, those of a checkout excepted."""
    target = folder.resolve()
    for place in map(Path, qse_models.__path__):
        of_checkout = (place.resolve().parent / "pyproject.toml").is_file()
        if target.is_relative_to(place.resolve()) and not of_checkout:
            return True
    return False

"""Folders for results whose names nobody has given."""

from pathlib import Path

RUNS = Path("runs")


def found_folder(folder: Path, named: Path = RUNS) -> Path:
    """Return `folder`, which lies below the folder `named`. Raises QseError if it, or one on the
    way, is a link: it may have come in an archive."""
    from qse.audio.folder_path import link_below
    from qse.errors import QseError

    if link := link_below(named, folder / "file"):
        raise QseError(f"{link} is a link: name a folder by --out")
    return folder

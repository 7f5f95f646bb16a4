"""Write short files, on which metadata are tried before they go into an enhanced file."""

from errno import ENOSPC
from pathlib import Path

import numpy as np

from .formats import Layout, native
from .private_folder import unseen_temporary

SHORT = 4800  # samples


def write_short(path: Path, layout: Layout) -> None:
    """Write a tenth of a second or more of silence in a file with this layout. Raises OSError."""
    import soundfile

    silence = np.zeros((SHORT, layout.channels), np.float32)
    try:
        with unseen_temporary(layout.subtype):
            soundfile.write(native(path), silence, layout.sample_rate, **layout.coding)
    except soundfile.LibsndfileError as error:
        raise OSError(ENOSPC, "is the disk for temporary files full?") from error

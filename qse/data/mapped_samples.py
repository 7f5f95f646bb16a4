"""Map a file of samples into memory."""

import warnings
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ..audio.folder_path import open_found
from ..errors import QseError


def mapped(samples: Path) -> Tensor:
    """Map a file of int16 samples, for reading alone: memory for it is never reserved.

    Raises QseError for a link."""
    try:
        with open(samples, "rb", opener=open_found) as file, warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The given NumPy array is not writable")
            return torch.from_numpy(np.memmap(file, np.int16, "r"))
    except OSError as error:
        raise QseError(f"{samples} cannot be read: {error.strerror}; delete it") from error

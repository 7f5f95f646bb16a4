"""Check what graphs return: ONNX Runtime compares it with nothing, whatever a graph declares."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import QseError


def check_outputs(outputs: Iterable[Any], inputs: Iterable[np.ndarray], path: Path) -> None:
    """Raise QseError, naming the graph at `path`, for an output that is not float32 in the shape of
    its input."""
    for output, like in zip(outputs, inputs, strict=True):
        if not isinstance(output, np.ndarray) or output.dtype != np.float32:
            fault = "returns something else than float32"
        elif output.shape != like.shape:
            fault = f"returns the shape {output.shape} for {like.shape}"
        else:
            continue
        raise QseError(f"{path} {fault}: choose another model, or export it again, `qse export`")

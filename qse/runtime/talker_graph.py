"""Run the graph that makes the entries of a talker: of the means of some states of a model, the
value of other ones at the beginning of a stream. Its inputs and outputs have the names of both."""

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import QseError
from .checksums import verify
from .engine_session import State
from .onnx_session import is_installed, open_session
from .voice import HIGHEST, entries_of
from .watchdog import STEP, Watchdog


class TalkerGraph:
    """The graph of talkers of a model. `states`: names of those whose means it takes."""

    def __init__(self, path: Path, state: State) -> None:
        """Load the graph at `path` for a model with this state at 16 kHz.

        Raises QseError if it is damaged, disagrees with its checksum, or is no graph of talkers of
        this model.
        """
        verify(path)
        self.path = path
        self._session = open_session(path, 1)
        inputs = _shapes(self._session.get_inputs())
        outputs = _shapes(self._session.get_outputs())
        self.states = list(inputs)
        self._entries = list(outputs)
        known = {name: list(array.shape) for name, array in state.items()}
        fits = inputs.items() <= known.items() and outputs.items() <= known.items()
        if not fits or sorted(outputs) != entries_of(state):
            raise QseError(f"{path} is no graph of talkers of this model: export the model again")

    def entries(self, means: Mapping[str, np.ndarray]) -> State:
        """Return the entries of a talker, of the means of `states`."""
        own = is_installed(self.path)
        with nullcontext() if own else Watchdog(self.path, STEP) as options:
            found = self._session.run(None, dict(means), options)
        fits = all(entry.ndim == 2 and (np.abs(entry) < HIGHEST).all() for entry in found)
        if not fits or not any(map(np.any, found)):
            raise QseError(f"{self.path} makes no entries of this talker: export it again")
        return dict(zip(self._entries, found, strict=True))


def _shapes(nodes: list[Any]) -> dict[str, list[int]]:
    """Return the shapes of inputs or outputs by their names; those of other types than float32
    fit nothing."""
    return {node.name: list(node.shape) if node.type == "tensor(float)" else [] for node in nodes}

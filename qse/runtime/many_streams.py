"""Run a graph of many streams: a hop and a state of each in, the enhanced hops and next states out.

Interface of the graph: inputs `audio` (streams, hop_length) and `state.<path>` (streams, numbers);
outputs `enhanced` and `next.<path>` of the same shapes, in the same order; the number of streams is
free in every call. Metadata as of a graph of one stream (engine.py), on one grid of frames.
"""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import numpy as np

from ..errors import QseError
from ..model_folder import STREAMS_GRAPH
from .checksums import verify
from .deadline import LOADING, within
from .engine import METADATA, State
from .graph_output import check_outputs
from .onnx_session import described, is_installed, open_session
from .watchdog import STEP, Watchdog
from .zoo import find


class ManyStreams:
    """A loaded graph of many streams. It holds no state.

    Attributes: `name`, `version`, `sample_rate` in Hz, `hop_length` and `latency` in samples.
    """

    def __init__(self, path: Path):
        """Load `path`. Raises QseError where it is missing, damaged or another graph."""
        self.path = path
        self._session = open_session(path, threads=1)
        metadata = dict(self._session.get_modelmeta().custom_metadata_map)
        inputs = self._session.get_inputs()
        outputs = [node.name for node in self._session.get_outputs()]
        self._sizes: dict[str, int] = {}
        for node in inputs[1:]:
            self._sizes[node.name] = node.shape[-1]
        after = [name.replace("state.", "next.", 1) for name in self._sizes]
        fits = described(metadata, METADATA) and outputs == ["enhanced", *after]
        if not fits or not _takes_streams(inputs, int(metadata["hop_length"])):
            raise QseError(f"{path} is an ONNX file, but not a graph of many streams")

        self.name = metadata["name"]
        self.version = metadata["version"]
        self.sample_rate = int(metadata["sample_rate"])
        self.hop_length = int(metadata["hop_length"])
        self.latency = int(metadata["latency"])
        if not is_installed(path):
            silence = np.zeros((1, self.hop_length), np.float32)
            within(LOADING, lambda: self.step(silence, self.initial_state()), path)

    def initial_state(self) -> State:
        """Return the state of one stream before its first sample: zeros (1, numbers)."""
        return {name: np.zeros((1, size), np.float32) for name, size in self._sizes.items()}

    def step(self, hops: np.ndarray, states: State) -> tuple[np.ndarray, State]:
        """Enhance one hop of each stream: (streams, hop_length) float32 in [-1, 1] -> the same
        shape, and the next states. Raises QseError where the graph fails, or returns other
        shapes."""
        with self._watched() as options:
            enhanced, *after = self._session.run(None, {"audio": hops, **states}, options)
        check_outputs([enhanced, *after], [hops, *states.values()], self.path)
        return enhanced, dict(zip(states, after, strict=True))

    def _watched(self) -> AbstractContextManager:
        return nullcontext() if is_installed(self.path) else Watchdog(self.path, STEP)


def load_many(model: str | Path) -> ManyStreams:
    """Load the graph of many streams of `model`: a name, a folder, or the path of such a graph.

    Raises QseError for an unknown model, one without such a graph, and one that is damaged.
    """
    path = find(model)
    if path != Path(model):  # of a name or a folder
        path = path.with_name(STREAMS_GRAPH)
    if not path.is_file():
        cure = "choose live-tiny, or open a Stream for each"
        raise QseError(f"{model} has no graph for many streams, {STREAMS_GRAPH}: {cure}")
    verify(path)
    return ManyStreams(path)


def _takes_streams(inputs: list, hop_length: int) -> bool:
    """Return whether the inputs are the hops and states of any number of streams."""
    if not inputs or inputs[0].name != "audio" or inputs[0].shape[-1] != hop_length:
        return False
    for node in inputs:
        if node.type != "tensor(float)" or len(node.shape) != 2:
            return False
        if isinstance(node.shape[0], int) or not isinstance(node.shape[1], int):
            return False
    return True

"""Run a streaming model: a hop of samples and a state in, an enhanced hop and the next state out.

Interface of the graph: inputs `audio` (1, hop_length) and `state.<path>`; outputs `enhanced`
(1, hop_length) and `next.<path>` in the same order; sample rate, hop length, latency, name and
version in the metadata. STFT and inverse STFT are inside the graph. The initial state is all zero,
but for the entries of a talker (voice.py).

`second_grid` in the metadata, in samples: the model is the mean of two runs of the graph, whose
frames lie so far apart (two_grids.py). Where that is half a hop of the graph, the two take turns
and the engine's hop is half as long.
"""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import QseError
from .deadline import LOADING, within
from .engine_session import EngineSession, State, copied, next_name
from .graph_output import check_outputs
from .onnx_session import described, is_installed, open_session
from .two_grids import AlternatingSession, GridRun, Session, TwoGridSession
from .voice import Voice, entries_of
from .watchdog import STEP, Watchdog

SECOND_GRID = "second_grid"  # in the metadata
METADATA = ("name", "version", "sample_rate", "hop_length", "latency")


class NotStreaming(QseError):
    """The file is not a streaming model; it may be an offline model."""


class Engine:
    """A loaded streaming model. It holds no state: one engine serves any streams and threads.

    Attributes: `name`, `version`, `sample_rate` in Hz, `hop_length` in samples (and
    `graph_hop_length`, of one run of the graph), `latency` in samples (by which the output lags the
    input when fed hop by hop), `second_grid` in samples (0: one grid of frames), `metadata` (all of
    the graph's metadata, as strings), `options` (those it was loaded with), `folder` (of a model
    that was loaded by name or folder; None where it was by the path of a graph), `voice` (of the
    talker whom its streams keep, None for whoever is near).
    """

    streams = True
    folder: Path | None = None

    def __init__(
        self,
        path: str | Path,
        threads: int = 1,
        flush_to_zero: bool = False,
        fast: bool = False,
        voice: Voice | None = None,
    ):
        """Load `path`, an exported .onnx file.

        threads: per step; 1 is the fastest for models of this size.
        flush_to_zero: flush denormals (below 1e-38) to zero, so that decaying state in long silence
        does not slow the model. This sets the mode of the calling thread and of all threads that it
        starts later, for all their computations. Only the first model that a process loads can set
        it.
        fast: run a model of two grids of frames on one of them, in half the time.
        voice: as in `keeping`.

        Raises QseError if the file is missing, damaged, or not a model exported by this library,
        with `fast` for a model that runs on one grid anyway, and for a voice of another model.
        """
        self.path = Path(path)
        self.options: dict[str, Any] = {
            "threads": threads,
            "flush_to_zero": flush_to_zero,
            "fast": fast,
        }
        self._session = open_session(self.path, threads, flush_to_zero)
        self.metadata = dict(self._session.get_modelmeta().custom_metadata_map)
        inputs = self._session.get_inputs()
        self._shapes: dict[str, tuple] = {}
        for node in inputs[1:]:
            self._shapes[node.name] = tuple(node.shape)
        if not self._fits(inputs):
            raise NotStreaming(
                f"{self.path} is an ONNX file, but not a streaming model written by `qse export`"
            )

        self.name = self.metadata["name"]
        self.version = self.metadata["version"]
        self.sample_rate = int(self.metadata["sample_rate"])
        self.graph_hop_length = int(self.metadata["hop_length"])
        self.second_grid = self._second_grid(fast)
        self._alternating = 2 * self.second_grid == self.graph_hop_length
        self.hop_length = self.second_grid if self._alternating else self.graph_hop_length
        self.latency = int(self.metadata["latency"]) + self.second_grid
        self._keep(voice)
        if not is_installed(self.path):
            self._try()

    def keeping(self, voice: Voice | None) -> "Engine":
        """Return this engine for streams that keep a talker, None: whoever is near. Raises QseError
        for a voice of another model."""
        engine = Engine.__new__(Engine)
        engine.__dict__.update(self.__dict__)
        engine._keep(voice)
        return engine

    def _keep(self, voice: Voice | None) -> None:
        self.voice = voice
        self.options = {**self.options, "voice": voice}
        zeros = {name: np.zeros(shape, np.float32) for name, shape in self._shapes.items()}
        self._beginning = voice.beginning(self.name, self.version, zeros) if voice else zeros

    def _fits(self, inputs: list) -> bool:
        """Return whether the graph has the interface of a streaming model."""
        if not described(self.metadata, METADATA):
            return False

        if not inputs or inputs[0].name != "audio":
            return False
        if list(map(str, inputs[0].shape)) != ["1", self.metadata["hop_length"]]:
            return False
        for node in inputs:
            if node.type != "tensor(float)":
                return False

        if SECOND_GRID in self.metadata:
            if not described(self.metadata, (SECOND_GRID,)):
                return False
            if int(self.metadata[SECOND_GRID]) > int(self.metadata["hop_length"]):
                return False

        for shape in self._shapes.values():
            if not all(isinstance(size, int) and size >= 0 for size in shape):
                return False
        outputs = [node.name for node in self._session.get_outputs()]
        return outputs == ["enhanced", *map(next_name, self._shapes)]

    def _second_grid(self, fast: bool) -> int:
        """Return the distance of the grids in samples, 0 for one grid."""
        shift = int(self.metadata.get(SECOND_GRID, 0))
        if fast and not shift:
            raise QseError(
                f"{self.name} has no faster form: leave fast=True out, or choose a model for "
                "recordings"
            )
        return 0 if fast else shift

    def _try(self) -> None:
        """Run one step. Raises QseError where that fails, or takes long."""
        step = self.session().step
        within(LOADING, lambda: step(np.zeros(self.hop_length, np.float32)), self.path)

    def __reduce__(self) -> tuple:
        """Pickle the path and the options: another process loads the file for itself."""
        return Engine, (self.path, *self.options.values()), {"folder": self.folder}

    def initial_state(self) -> State:
        """Return the state before the first sample: zeros, but for the entries of a talker."""
        return copied(self._beginning)

    def step(self, hop: np.ndarray, state: State) -> tuple[np.ndarray, State]:
        """Run the graph once, on one grid: `hop` (graph_hop_length,), float32 in [-1, 1] -> as many
        samples and the next state."""
        with self._watched() as options:
            enhanced, *after = self._session.run(None, {"audio": hop[None], **state}, options)
        check_outputs([enhanced, *after], [hop[None], *state.values()], self.path)
        return enhanced[0], dict(zip(state, after, strict=True))

    @property
    def keeps_one(self) -> bool:
        """Return whether the model keeps one talker and removes other voices."""
        return bool(entries_of(self._shapes))

    @property
    def delay(self) -> float:
        """Seconds from a sample to its output: until its hop is complete, and the latency."""
        return (self.latency + self.hop_length) / self.sample_rate

    def session(self) -> Session:
        """Return a session for one signal: on one grid the same output as `step`, in less time."""
        first = self._one_grid()
        if not self.second_grid:
            return first
        second = self._one_grid()
        if self._alternating:
            return AlternatingSession(first, second, self.graph_hop_length)
        return TwoGridSession(first, second, self.second_grid, self.hop_length)

    def grid_runs(self) -> list[GridRun]:
        """Return a run per grid for one recording: together they do what `session` does."""
        hop = self.graph_hop_length
        shift = self.second_grid
        runs = [GridRun(self._one_grid(), hop, after=shift)]
        if shift:
            runs.append(GridRun(self._one_grid(), hop, before=shift))
        return runs

    def _one_grid(self) -> EngineSession:
        return EngineSession(self._session, self._beginning, self.graph_hop_length, self._watched)

    def _watched(self) -> AbstractContextManager:
        """Return the context of a call: it yields options that end a call of an unknown graph after
        some time."""
        return nullcontext() if is_installed(self.path) else Watchdog(self.path, STEP)

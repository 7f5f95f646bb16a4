"""Run a streaming model: one hop of samples and a state in, one enhanced hop and the next state out (ONNX Runtime).

Interface of the graph: inputs `audio` (1, hop_length) and `state.<path>`; outputs `enhanced` (1, hop_length) and
`next.<path>` in the same order; sample rate, hop length, latency, name and version in the metadata. STFT and inverse
STFT are inside the graph. The initial state is all zero.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import QseError

if TYPE_CHECKING:
    from .stream import Stream

METADATA = ("name", "version", "sample_rate", "hop_length", "latency")

State = dict[str, np.ndarray]


class NotStreaming(QseError):
    """The file is not a streaming model; it may be an offline model."""


class Engine:
    """A loaded streaming model. It holds no state, so one engine serves any number of streams and threads at once.

    Attributes: `name`, `version`, `sample_rate` in Hz, `hop_length` in samples, `latency` in samples (by which
    `enhanced` lags `audio` when fed hop by hop), `metadata` (all of the graph's metadata, as strings).
    """

    streams = True

    def __init__(self, path: str | Path, threads: int = 1, flush_to_zero: bool = False):
        """Load `path`, an exported .onnx file; `threads` is per step, and 1 is the fastest for models of this size.

        flush_to_zero: flush denormals (below 1e-38) to zero, so that decaying state in long silence does not slow the
        model. This sets the mode of the calling thread and of all threads that it starts later, for all their
        computations. Only the first model that a process loads can set it.

        Raises QseError if the file is missing, damaged, or not a model exported by this library.
        """
        self.path = Path(path)
        self._loaded = self.path, threads, flush_to_zero
        self._session = open_session(*self._loaded)
        self.metadata = dict(self._session.get_modelmeta().custom_metadata_map)
        inputs = self._session.get_inputs()
        self._shapes = {node.name: tuple(node.shape) for node in inputs[1:]}
        self._check(inputs[:1])
        self.name, self.version = self.metadata["name"], self.metadata["version"]
        self.sample_rate = int(self.metadata["sample_rate"])
        self.hop_length = int(self.metadata["hop_length"])
        self.latency = int(self.metadata["latency"])

    def _check(self, audio: list) -> None:
        outputs = [node.name for node in self._session.get_outputs()]
        wanted = ["enhanced", *(_after(name) for name in self._shapes)]
        first = [(node.name, *map(str, node.shape)) for node in audio]
        fits = first == [("audio", "1", self.metadata.get("hop_length"))]
        if not described(self.metadata, METADATA) or outputs != wanted or not fits:
            raise NotStreaming(f"{self.path} is an ONNX file, but not a streaming model written by `qse export`")

    def __reduce__(self) -> tuple:
        return Engine, self._loaded  # another process loads the file for itself

    def initial_state(self) -> State:
        """Return the state before the first sample: zeros."""
        return {name: np.zeros(shape, np.float32) for name, shape in self._shapes.items()}

    def step(self, hop: np.ndarray, state: State) -> tuple[np.ndarray, State]:
        """Enhance `hop` (hop_length,), float32 in [-1, 1]: return enhanced (hop_length,) and the next state."""
        enhanced, *after = self._session.run(None, {"audio": hop[None], **state})
        return enhanced[0], dict(zip(state, after, strict=True))

    def as_engine(self) -> "Engine":
        """Return the engine itself; see Model."""
        return self

    def open_channel(self) -> "Stream":
        """Return a Stream for blocks of any length."""
        from .stream import Stream

        return Stream(self)

    def session(self) -> "EngineSession":
        """Return a session for one signal, which keeps the state: the same output as `step`, in less time."""
        return EngineSession(self._session, self.initial_state(), self.initial_state(), self.hop_length)


class EngineSession:
    """Run an engine along one signal. Two sets of state buffers alternate as input and output; nothing is copied."""

    def __init__(self, session: Any, before: State, after: State, hop_length: int):
        from onnxruntime import OrtValue

        self._session = session
        self._state = (before, after)
        self._audio = np.zeros((1, hop_length), np.float32)
        self._enhanced = np.zeros((1, hop_length), np.float32)
        self._value = OrtValue.ortvalue_from_numpy  # shares the array's memory
        self._binding, self._other = self._bind(before, after), self._bind(after, before)

    def _bind(self, before: State, after: State) -> Any:
        binding = self._session.io_binding()
        binding.bind_ortvalue_input("audio", self._value(self._audio))
        binding.bind_ortvalue_output("enhanced", self._value(self._enhanced))
        for name in before:
            binding.bind_ortvalue_input(name, self._value(before[name]))
            binding.bind_ortvalue_output(_after(name), self._value(after[name]))
        return binding

    def step(self, hop: np.ndarray) -> np.ndarray:
        """Enhance `hop` (hop_length,): return (hop_length,), a buffer that the next step overwrites."""
        self._audio[0] = hop
        self._session.run_with_iobinding(self._binding)
        self._binding, self._other = self._other, self._binding
        return self._enhanced[0]

    def reset(self) -> None:
        """Set the state to zero."""
        for state in self._state:
            for array in state.values():
                array.fill(0)


def described(metadata: Mapping[str, str], keys: Iterable[str]) -> bool:
    """Return whether `metadata` holds all of `keys`; those other than name and version must be integers."""
    return all(key in metadata and (key in ("name", "version") or metadata[key].isdecimal()) for key in keys)


def _after(name: str) -> str:
    return name.replace("state.", "next.", 1)


def open_session(path: Path, threads: int, flush_to_zero: bool = False, reuse: bool = False) -> Any:
    """Open the graph at `path`; `reuse` lets tensors share memory, which takes 5 to 10 % more time.

    Raises QseError if it is missing or damaged.
    """
    import onnxruntime as ort

    if not path.is_file():
        raise QseError(f"{path}: no such model file")
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3
    options.enable_mem_reuse = reuse  # small models take as much memory without it
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.set_denormal_as_zero", str(int(flush_to_zero)))
    try:
        return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime's exceptions have no common base of their own
        raise QseError(
            f"{path} cannot be loaded as an ONNX model: it is damaged or not ONNX; fetch it again"
        ) from error

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
from .graph_check import Unfit, check_graph, memory_limit

if TYPE_CHECKING:
    from .model import Model
    from .stream import Stream

METADATA = ("name", "version", "sample_rate", "hop_length", "latency")
MOST, LONGEST = 10**6, 60  # of a sample rate in Hz or a hop in samples; seconds of latency

State = dict[str, np.ndarray]

_limited = False  # whether the memory of this process's sessions is bounded, see _limit


class NotStreaming(QseError):
    """The file is not a streaming model; it may be an offline model."""


class Engine:
    """A loaded streaming model. It holds no state, so one engine serves any number of streams and threads at once.

    Attributes: `name`, `version`, `sample_rate` in Hz, `hop_length` in samples, `latency` in samples (by which
    `enhanced` lags `audio` when fed hop by hop), `metadata` (all of the graph's metadata, as strings).
    """

    streams = True
    folder: Path | None = None  # see Model
    sister: "Model | None" = None

    def __init__(self, path: str | Path, threads: int = 1, flush_to_zero: bool = False):
        """Load `path`, an exported .onnx file; `threads` is per step, and 1 is the fastest for models of this size.

        flush_to_zero: flush denormals (below 1e-38) to zero, so that decaying state in long silence does not slow the
        model. This sets the mode of the calling thread and of all threads that it starts later, for all their
        computations. Only the first model that a process loads can set it.

        Raises QseError if the file is missing, damaged, or not a model exported by this library.
        """
        self.path = Path(path)
        self.options: dict[str, Any] = {"threads": threads, "flush_to_zero": flush_to_zero}
        self._session = open_session(self.path, threads, flush_to_zero)
        self.metadata = dict(self._session.get_modelmeta().custom_metadata_map)
        inputs = self._session.get_inputs()
        self._shapes = {node.name: tuple(node.shape) for node in inputs[1:]}
        self._check(inputs)
        self.name, self.version = self.metadata["name"], self.metadata["version"]
        self.sample_rate = int(self.metadata["sample_rate"])
        self.hop_length = int(self.metadata["hop_length"])
        self.latency = int(self.metadata["latency"])
        self._try()

    def _check(self, inputs: list) -> None:
        """Raise NotStreaming unless the graph has the interface of a streaming model."""
        outputs = [node.name for node in self._session.get_outputs()]
        wanted = ["enhanced", *(_after(name) for name in self._shapes)]
        first = [(node.name, *map(str, node.shape)) for node in inputs[:1]]
        fits = first == [("audio", "1", self.metadata.get("hop_length"))]
        fits &= all(
            isinstance(size, int) and size >= 0 for shape in self._shapes.values() for size in shape
        )
        fits &= all(node.type == "tensor(float)" for node in inputs)
        if not described(self.metadata, METADATA) or outputs != wanted or not fits:
            raise NotStreaming(
                f"{self.path} is an ONNX file, but not a streaming model written by `qse export`"
            )

    def _try(self) -> None:
        """Run one step on a graph of unknown origin. Raises QseError where that fails."""
        if is_installed(self.path):
            return
        try:
            self.session().step(np.zeros(self.hop_length, np.float32))
        except Exception as error:  # ONNX Runtime's exceptions have no common base of their own
            reason = str(error).partition("\n")[0]
            raise QseError(
                f"{self.path} cannot be run: {reason}; export it again, `qse export`"
            ) from error

    def __reduce__(self) -> tuple:
        """Pickle the path and the options: another process loads the file for itself."""
        return Engine, (self.path, *self.options.values()), {"folder": self.folder}

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
        return EngineSession(
            self._session, self.initial_state(), self.initial_state(), self.hop_length
        )


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
    """Return whether `metadata` holds all of `keys`; those other than name and version must be integers in range."""
    return all(
        key in metadata and (key in ("name", "version") or _in_range(key, metadata)) for key in keys
    )


def _in_range(key: str, metadata: Mapping[str, str]) -> bool:
    """Return whether a number is 1 to 10^6; a latency may be 0, and is at most LONGEST seconds."""
    text = metadata[key]
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        return False
    if key == "latency":
        return "sample_rate" in metadata and int(text) <= LONGEST * int(metadata["sample_rate"])
    return 0 < int(text) <= MOST


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
    options.log_severity_level = 4  # what happens is told by exceptions
    options.enable_mem_reuse = reuse  # small models take as much memory without it
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.set_denormal_as_zero", str(int(flush_to_zero)))
    try:
        data = path.read_bytes()
        if not is_installed(path):
            _limit(options, check_graph(data))
        session = ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        _ = (
            session.get_modelmeta().custom_metadata_map,
            session.get_inputs(),
            session.get_outputs(),
        )  # all is UTF-8
        _ = [node.name for node in (*session.get_inputs(), *session.get_outputs())]
        return session
    except Unfit as error:
        raise QseError(
            f"{path} is not a model that qse runs: {error}; export it again, `qse export`"
        ) from error
    except Exception as error:  # ONNX Runtime's exceptions have no common base of their own
        raise QseError(
            f"{path} cannot be loaded as an ONNX model: it is damaged or not ONNX; fetch it again"
        ) from error


def is_installed(path: Path) -> bool:
    """Return whether the graph came with this package, and has therefore been checked."""
    import qse_models

    return any(path.is_relative_to(place) for place in qse_models.__path__)


def _limit(options: Any, nodes: int) -> None:
    """Bound the memory of all sessions whose graphs are of unknown origin, and of the constants of each of them."""
    import onnxruntime as ort

    global _limited
    if not _limited:
        everything = {"max_mem": memory_limit() // 2, "arena_extend_strategy": -1}
        sizes = dict.fromkeys(("initial_chunk_size_bytes", "max_dead_bytes_per_chunk"), -1)
        place = ort.OrtMemoryInfo(
            "Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT
        )
        ort.create_and_register_allocator(place, ort.OrtArenaCfg({**everything, **sizes}))
        _limited = True
    options.add_session_config_entry("session.use_env_allocators", "1")
    most = memory_limit() // 2 // max(1, nodes)
    options.add_session_config_entry(
        "optimization.constant_folding_max_output_size_in_bytes", str(most)
    )

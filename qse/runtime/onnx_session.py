"""Open graphs with ONNX Runtime; graphs of unknown origin are checked,
and their memory is bounded."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import QseError
from .deadline import LOADING, within
from .graph_check import Unfit, check_graph, memory_limit, metadata_of, read_graph

MOST = 10**6  # of a sample rate in Hz or a hop in samples
LONGEST = 60  # seconds of latency


def open_session(path: Path, threads: int, flush_to_zero: bool = False, reuse: bool = False) -> Any:
    """Open the graph at `path`; `reuse` lets tensors share memory, which takes 5 to 10 % more time.

    Raises QseError if it is missing or damaged.
    """
    import onnxruntime as ort

    if not path.is_file():
        raise QseError(f"{path}: no such model file")

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # what happens is told by exceptions
    options.enable_mem_reuse = reuse  # small models take as much memory without it
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.set_denormal_as_zero", str(int(flush_to_zero)))
    options.add_session_config_entry("session.load_model_format", "ONNX")  # which is checked
    with _told(path):
        data = read_graph(path)

        def load() -> Any:
            session = ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])
            _read_texts(session)
            return session

        if is_installed(path):
            return load()
        _limit(options, within(LOADING, lambda: check_graph(data), path))
        # flush_to_zero sets the mode of the thread that loads
        return load() if flush_to_zero else within(LOADING, load, path)


def metadata(path: Path) -> dict[str, str]:
    """Return the metadata of the graph at `path`. Raises QseError if it is no ONNX file."""
    return metadata_of(graph_bytes(path))


def graph_bytes(path: Path) -> bytes:
    """Return the content of a graph. Raises QseError if it is no ONNX file, by its size or its
    first byte."""
    with _told(path):
        return read_graph(path)


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Raise QseError for whatever is wrong with the graph at `path`."""
    try:
        yield
    except QseError:
        raise
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


def described(metadata: Mapping[str, str], keys: Iterable[str]) -> bool:
    """Return whether `metadata` holds all of `keys`, integers in range except name and version."""
    for key in keys:
        if key not in metadata:
            return False
        if key not in ("name", "version") and not _in_range(key, metadata):
            return False
    return True


def _in_range(key: str, metadata: Mapping[str, str]) -> bool:
    """Return whether a number is 1 to 10^6; a latency may be 0, and is at most LONGEST seconds."""
    text = metadata[key]
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        return False
    if key == "latency":
        return "sample_rate" in metadata and int(text) <= LONGEST * int(metadata["sample_rate"])
    return 0 < int(text) <= MOST


def _read_texts(session: Any) -> None:
    """Read all names and metadata once. Raises an exception where one is not UTF-8."""
    _ = session.get_modelmeta().custom_metadata_map
    for node in (*session.get_inputs(), *session.get_outputs()):
        _ = node.name


def _limit(options: Any, nodes: int) -> None:
    """Bound the memory of sessions of unknown graphs together, and of the constants of each."""
    most = memory_limit() // 2
    _bound_shared_memory(most)
    options.add_session_config_entry("session.use_env_allocators", "1")
    options.add_session_config_entry(
        "optimization.constant_folding_max_output_size_in_bytes", str(most // max(1, nodes))
    )


@cache
def _bound_shared_memory(most: int) -> None:
    """Let the sessions of unknown graphs share an arena of `most` bytes, one for the process."""
    import onnxruntime as ort

    arena = {
        "max_mem": most,
        "arena_extend_strategy": -1,
        "initial_chunk_size_bytes": -1,
        "max_dead_bytes_per_chunk": -1,
    }
    place = ort.OrtMemoryInfo(
        "Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT
    )
    ort.create_and_register_allocator(place, ort.OrtArenaCfg(arena))

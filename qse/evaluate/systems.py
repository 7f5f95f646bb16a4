"""Systems room: whatever can be judged, found from one word and opened as a function of noisy audio.

noisy       no processing: the row that every other one is compared with
model       an installed model's name, an exported .onnx file, or a folder with one
checkpoint  a folder with config.toml and weights, run by PyTorch: a training run, or a model before its export
folder      the output of any other system: audio files named like the noisy ones
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from ..data.datasets import by_mark, by_name
from ..errors import QseError
from ..extras import need
from ..model_folder import GRAPH, weights_of
from ..runtime.zoo import available, find

Enhance = Callable[[np.ndarray, int], np.ndarray]


@dataclass(frozen=True)
class System:
    """What is judged. `kind` is one of the four above, `name` its heading in tables, `path` what it is read from."""

    kind: str
    name: str
    path: Path = Path()

    def fingerprint(self) -> str:
        """SHA-256 of the model's file; "" for what has none."""
        if self.kind not in ("model", "checkpoint"):
            return ""
        path = self.path if self.kind == "model" else weights_of(self.path)
        return hashlib.sha256(path.read_bytes()).hexdigest()


def find_system(word: str) -> System:
    """The system that `word` means: "noisy", a model's name, or a path. QseError if it means none of them."""
    path = Path(word)
    if word == "noisy":
        return System("noisy", "noisy")
    if word not in available() and path.is_dir() and not (path / GRAPH).is_file():
        kind = "checkpoint" if weights_of(path).is_file() else "folder"
        return System(kind, path.resolve().name, path)
    graph = find(word)
    return System("model", graph.parent.name if graph.name == GRAPH else graph.stem, graph)


def opened(system: System, threads: int) -> Enhance | None:
    """The function that enhances, opened once per process; None for systems that do not process."""
    return _open(system, threads) if system.kind in ("model", "checkpoint") else None


@lru_cache(maxsize=1)
def _open(system: System, threads: int) -> Enhance:
    enhance = (open_model if system.kind == "model" else open_checkpoint)(system.path, threads)
    enhance(np.zeros(16000, np.float32), 16000)  # what a first run costs belongs to no utterance
    return enhance


def open_model(path: Path, threads: int) -> Enhance:
    """An exported model, run by ONNX Runtime on `threads` threads."""
    from .. import denoise, load

    engine = load(path, threads)
    return lambda noisy, sample_rate: denoise(noisy.astype(np.float32), sample_rate, engine)


def open_checkpoint(path: Path, threads: int) -> Enhance:
    """A trained network as it is in PyTorch, before any export, on `threads` threads of the CPU.

    Of a training run it takes the moving average of the weights, which is what validation judges and what is exported.
    """
    torch = need("torch", "train")
    from .. import networks
    from ..networks.weights import load_network

    network, _ = load_network(path / "config.toml", weights_of(path))
    rate = network.config.sample_rate
    torch.set_num_threads(threads)

    def enhance(noisy: np.ndarray, sample_rate: int) -> np.ndarray:
        if sample_rate != rate:
            raise QseError(f"{path} works at {rate} Hz, the audio has {sample_rate} Hz: convert it")
        with torch.no_grad():
            return networks.enhance(network, torch.from_numpy(noisy.astype(np.float32))[None])[0].numpy()

    return enhance


def forget() -> None:
    """Whatever was opened is read anew: its file may be another one by now."""
    _open.cache_clear()
    enhanced_files.cache_clear()


@lru_cache(maxsize=1)
def enhanced_files(folder: Path) -> dict[str, Path]:
    """{name: path} of a folder of enhanced files, by their names and by their marks."""
    files = by_name(folder)
    return files | by_mark(files)

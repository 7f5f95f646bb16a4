"""Find the system to evaluate, and enhance noisy audio with it.

NoisySystem       no processing: the baseline that every other system is compared with
ModelSystem       an installed model's name, an exported .onnx file, or a folder with one
CheckpointSystem  a folder with config.toml and weights, run by PyTorch: a training run, or a model before its export
FolderSystem      the output of any other system: audio files named like the noisy ones
FunctionSystem    a function of arrays, or a network in memory
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar
from uuid import uuid4

import numpy as np

from ..data.datasets import Pair, by_mark, by_name
from ..data.recordings import length_and_rate
from ..errors import QseError
from ..extras import need
from ..model_folder import GRAPH, weights_of
from ..runtime.zoo import available, find
from .reading import read_like, read_rate

Enhanced = tuple[np.ndarray, float | None]  # (samples,), seconds of computation or None
Enhancer = Callable[[Pair, np.ndarray], Enhanced]  # of a pair, and of its noisy audio (samples,)
Process = Callable[
    [np.ndarray, int], np.ndarray
]  # noisy (samples,), sample rate -> enhanced (samples,)


@dataclass(frozen=True)
class System(ABC):
    """A system under test: its heading in tables, the path it is read from, the threads it computes with."""

    name: str
    path: Path = Path()
    threads: int = 1

    baseline: ClassVar[bool] = False  # it is the noisy signal itself
    computes: ClassVar[bool] = (
        False  # it enhances audio now: it has a speed, and can process other audio before
    )

    def fingerprint(self) -> str:
        """Return the SHA-256 of the model's file; "" for a system without one."""
        return ""

    def training(self) -> dict[str, str]:
        """Return the training step of a checkpoint's weights as {"step": ...}; nothing for other systems."""
        return {}

    def outputs(self) -> dict[str, Path]:
        """Return {utterance: file} of what the system has made already."""
        return {}

    def supports(self, sample_rate: int) -> bool:
        """Return whether the system makes audio of this rate without conversion."""
        return True

    def at(self, sample_rate: int) -> "System":
        """Return the system that is used for audio of this rate."""
        return self

    @abstractmethod
    def open(self, sample_rate: int) -> Enhancer:
        """Return the function that enhances audio of this rate. QseError if the system cannot be opened."""


class NoisySystem(System):
    baseline = True

    def open(self, sample_rate: int) -> Enhancer:
        return lambda pair, noisy: (noisy, None)


class FolderSystem(System):
    def outputs(self) -> dict[str, Path]:
        """Return the audio files of the folder by their names and by their marks."""
        files = by_name(self.path)
        return files | by_mark(files)

    def supports(self, sample_rate: int) -> bool:
        return all(length_and_rate(path)[1] == sample_rate for path in by_name(self.path).values())

    def open(self, sample_rate: int) -> Enhancer:
        files = self.outputs()

        def enhance(pair: Pair, noisy: np.ndarray) -> Enhanced:
            path = files.get(pair.name)
            if path is None or pair.noisy is None:
                raise QseError(f"{self.path} has no file called {pair.name}")
            return read_like(path, pair.noisy, sample_rate), None

        return enhance


class _ComputingSystem(System):
    computes = True

    def open(self, sample_rate: int) -> Enhancer:
        process = self._process(sample_rate)
        process(
            np.zeros(sample_rate, np.float32), sample_rate
        )  # no utterance includes the cost of the first run

        def enhance(pair: Pair, noisy: np.ndarray) -> Enhanced:
            """Process lead-in and noisy signal as one stream; return the output and the time of the latter."""
            stream = np.concatenate(
                [*(read_rate(path, sample_rate) for path in pair.lead_in), noisy]
            )
            start = perf_counter()
            enhanced = process(stream, sample_rate)
            share = len(noisy) / max(1, len(stream))
            return enhanced[len(stream) - len(noisy) :], share * (perf_counter() - start)

        return enhance

    @abstractmethod
    def _process(self, sample_rate: int) -> Process:
        """Return the function that enhances a signal (samples,) of the given rate."""


class ModelSystem(_ComputingSystem):
    """An exported model, run by ONNX Runtime; audio of another rate is converted to the model's and back."""

    def fingerprint(self) -> str:
        return hashlib.sha256(self.path.read_bytes()).hexdigest()

    def supports(self, sample_rate: int) -> bool:
        return self.at(sample_rate)._engine.sample_rate == sample_rate

    def at(self, sample_rate: int) -> "ModelSystem":
        """Return the system with the model's graph for this rate: above 16 kHz the full-band one, if there is one."""
        model = self.path.parent if self.path.name == GRAPH else self.path
        return replace(self, path=find(model, sample_rate))

    def _process(self, sample_rate: int) -> Process:
        from .. import denoise

        engine = self._engine
        return lambda noisy, rate: denoise(noisy.astype(np.float32), rate, engine)

    @property
    def _engine(self) -> Any:
        from .. import load

        return load(self.path, self.threads)


class CheckpointSystem(_ComputingSystem):
    """A trained network before any export, with its averaged weights, on the CPU."""

    def fingerprint(self) -> str:
        return hashlib.sha256(weights_of(self.path).read_bytes()).hexdigest()

    def training(self) -> dict[str, str]:
        from ..networks.weights import weights_step

        return {"step": weights_step(self.path)}

    def supports(self, sample_rate: int) -> bool:
        return self._network.config.sample_rate == sample_rate

    def _process(self, sample_rate: int) -> Process:
        torch, network = need("torch", "train"), self._network_at(sample_rate)

        def process(noisy: np.ndarray, _: int) -> np.ndarray:
            torch.set_num_threads(self.threads)
            with torch.no_grad():
                return network.enhance(torch.from_numpy(noisy.astype(np.float32))[None])[0].numpy()

        return process

    def _network_at(self, sample_rate: int) -> Any:
        """Return the network, or for a lower rate its bands below; QseError for a rate that it does not have."""
        network = self._network
        try:
            return network.at(sample_rate)
        except ValueError as error:
            rate = network.config.sample_rate
            reason = f"works at {rate} Hz, not at {sample_rate}: evaluate with sample_rate={rate}"
            raise QseError(f"{self.path} {reason}") from error

    @property
    def _network(self) -> Any:
        need("torch", "train")
        from ..networks.weights import load_network

        return load_network(self.path / "config.toml", weights_of(self.path))[0]


@dataclass(frozen=True)
class FunctionSystem(_ComputingSystem):
    """A function of noisy (samples,) and sample rate in Hz that returns enhanced (samples,)."""

    function: Process = field(default=lambda noisy, rate: noisy)
    token: str = field(default_factory=lambda: uuid4().hex)

    def fingerprint(self) -> str:
        """Return what no other function has: scores of an earlier evaluation are not those of this one."""
        return self.token

    def _process(self, sample_rate: int) -> Process:
        return self.function


class NetworkProcess:
    """Enhance with a network in memory, in eval mode, as it is at every call."""

    def __init__(self, network: Any):
        self.network = network

    def __call__(self, noisy: np.ndarray, sample_rate: int) -> np.ndarray:
        torch = need("torch", "train")
        network = self.network.at(sample_rate)
        training = network.training
        network.eval()
        try:
            with torch.no_grad():
                return network.enhance(torch.from_numpy(noisy.astype(np.float32))[None])[0].numpy()
        finally:
            network.train(training)


def as_system(system: Any, threads: int = 1) -> System:
    """Return a system for a name, a path, a network in memory, a function, or a system. QseError for anything else."""
    if isinstance(system, System):
        return system
    if isinstance(system, str | Path):
        return find_system(str(system), threads)
    if hasattr(system, "enhance") and hasattr(system, "at"):
        return FunctionSystem(
            type(system).__name__, threads=threads, function=NetworkProcess(system)
        )
    if callable(system):
        name = getattr(system, "__name__", type(system).__name__)
        return FunctionSystem(name, threads=threads, function=system)
    raise QseError(
        f"no system to evaluate: give a name, a path, a network or a function, not {system!r}"
    )


def find_system(name: str, threads: int = 1) -> System:
    """Return the system for "noisy", a model's name, or a path. QseError if it is none of them."""
    path = Path(name)
    if name == "noisy":
        return NoisySystem("noisy")
    if name not in available() and path.is_dir() and not (path / GRAPH).is_file():
        kind = CheckpointSystem if weights_of(path).is_file() else FolderSystem
        return kind(path.resolve().name, path, threads)
    graph = find(name)
    return ModelSystem(graph.parent.name if graph.name == GRAPH else graph.stem, graph, threads)

"""Find the system to evaluate, and enhance noisy audio with it.

NoisySystem       no processing: the baseline that every other system is compared with
ModelSystem       an installed model's name, an exported .onnx file, or a folder with one
CheckpointSystem  a folder with config.toml and weights, run by PyTorch: a training run, or a model
                  before its export
FolderSystem      the output of any other system: audio files named like the noisy ones
FunctionSystem    a function of arrays, or a network in memory
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any
from uuid import uuid4

import numpy as np

from .. import config as configuration
from ..audio.checks import rate_fault
from ..data.datasets import Pair
from ..errors import QseError, UsageError
from ..extras import need
from ..model_folder import CONFIG, GRAPH, weights_of
from ..runtime.checksums import sha256_of
from ..runtime.onnx_session import described, metadata
from ..runtime.zoo import Model, available, find, load
from ..torch_device import torch_device
from .reading import read_rate
from .signals import SAMPLE_RATE, resampled
from .system import Enhanced, Enhancer, FolderSystem, NoisySystem, System

Process = Callable[[np.ndarray, int], np.ndarray]  # noisy, sample rate in Hz -> enhanced


def timed(process: Process, pair: Pair, noisy: np.ndarray, sample_rate: int) -> Enhanced:
    """Process lead-in and noisy signal as one stream; return output and time of the latter."""
    before = [read_rate(path, sample_rate) for path in pair.lead_in]
    stream = np.concatenate([*before, noisy])
    start = perf_counter()
    enhanced = process(stream, sample_rate)
    seconds = perf_counter() - start
    share = len(noisy) / max(1, len(stream))
    return enhanced[len(stream) - len(noisy) :], share * seconds


def enhancing(engine: Model) -> Process:
    """Return the function of a loaded model."""
    from .. import denoise

    return lambda noisy, rate: denoise(noisy.astype(np.float32), rate, engine)


class _ComputingSystem(System):
    computes = True

    def open(self, sample_rate: int) -> Enhancer:
        process = self._process(sample_rate)
        silence = np.zeros(sample_rate, np.float32)
        process(silence, sample_rate)  # no utterance includes the cost of the first run

        return lambda pair, noisy: timed(process, pair, noisy, sample_rate)

    @abstractmethod
    def _process(self, sample_rate: int) -> Process:
        """Return the function that enhances a signal (samples,) of the given rate."""


class ModelSystem(_ComputingSystem):
    """An exported model, run by ONNX Runtime; audio of another rate is converted to the model's
    and back."""

    def fingerprint(self) -> str:
        return sha256_of(self.path)

    def rate_for(self, sample_rate: int) -> int:
        """Return the rate of the graph for this rate, 16 kHz if its metadata do not say it."""
        found = metadata(self.at(sample_rate).path)
        return int(found["sample_rate"]) if described(found, ("sample_rate",)) else SAMPLE_RATE

    def at(self, sample_rate: int) -> "ModelSystem":
        """Return the system with the model's graph for this rate: above 16 kHz the full-band one.

        The other one is taken where the model has no such graph.
        """
        model = self.path.parent if self.path.name == GRAPH else self.path
        return replace(self, path=find(model, sample_rate))

    def _process(self, sample_rate: int) -> Process:
        return enhancing(load(self.path, self.threads))


@dataclass(frozen=True)
class CheckpointSystem(_ComputingSystem):
    """A trained network before any export, with its averaged weights, on a device of PyTorch."""

    device: str = "cpu"
    trust: bool = False  # to import what the configuration names

    def fingerprint(self) -> str:
        return sha256_of(weights_of(self.path))

    def training(self) -> dict[str, str]:
        from ..networks.weights import weights_step

        return {"step": weights_step(self.path)}

    def rate_for(self, sample_rate: int) -> int:
        """Return the rate of the network, as its configuration says."""
        path = self.path / CONFIG
        table = configuration.read(path).get("model", {})
        rate = table.get("sample_rate", SAMPLE_RATE) if isinstance(table, dict) else None
        if not isinstance(rate, int) or rate_fault(rate):
            raise QseError(f"{path}: has no sample rate of a model; name another run")
        return rate

    def _process(self, sample_rate: int) -> Process:
        """Return the network's function; audio below 16 kHz is converted to 16 kHz and back, unless
        the network works at its rate."""
        torch = need("torch", "train")
        is_own = sample_rate == self.rate_for(sample_rate)
        rate = sample_rate if is_own else max(sample_rate, SAMPLE_RATE)
        network = self._network_at(rate)

        def process(noisy: np.ndarray, _: int) -> np.ndarray:
            torch.set_num_threads(self.threads)
            signal = torch.from_numpy(resampled(noisy, sample_rate, rate).astype(np.float32))
            with torch.no_grad():
                enhanced = network.enhance(signal[None].to(self.device))[0].cpu().numpy()
            return resampled(enhanced, rate, sample_rate)

        return process

    def _network_at(self, sample_rate: int) -> Any:
        """Return the network, or for a lower rate its bands below. QseError for another rate."""
        need("torch", "train")
        from ..networks.weights import load_network

        network = load_network(self.path / CONFIG, weights_of(self.path), self.trust)[0]
        try:
            return network.to(torch_device(self.device)).at(sample_rate)
        except ValueError as error:
            rate = network.config.sample_rate
            reason = f"works at {rate} Hz, not at {sample_rate}: evaluate with sample_rate={rate}"
            raise QseError(f"{self.path} {reason}") from error


@dataclass(frozen=True)
class FunctionSystem(_ComputingSystem):
    """A function of noisy (samples,) and sample rate in Hz that returns enhanced (samples,)."""

    function: Process = field(default=lambda noisy, rate: noisy)
    token: str = field(default_factory=lambda: uuid4().hex)
    rate: int | None = None  # Hz, of a network

    def rate_for(self, sample_rate: int) -> int:
        return self.rate or sample_rate

    def fingerprint(self) -> str:
        """Return what no other function has: its scores are never those of another one."""
        return self.token

    def _process(self, sample_rate: int) -> Process:
        return self.function


class NetworkProcess:
    """Enhance with a network in memory, in eval mode, as it is at every call."""

    def __init__(self, network: Any):
        self.network = network

    def __call__(self, noisy: np.ndarray, sample_rate: int) -> np.ndarray:
        torch = need("torch", "train")
        from ..networks.network import evaluating

        network = self.network.at(sample_rate)
        device = next((weight.device for weight in network.parameters()), "cpu")
        signal = torch.from_numpy(noisy.astype(np.float32))[None].to(device)
        with torch.no_grad(), evaluating(network):
            return network.enhance(signal)[0].cpu().numpy()


def as_system(system: Any, threads: int = 1) -> System:
    """Return a system for a name, a path, a network in memory, a function, or a system.

    Raises QseError for anything else.
    """
    if isinstance(system, System):
        return system
    if isinstance(system, str | Path):
        return find_system(str(system), threads)
    if hasattr(system, "enhance") and hasattr(system, "at"):
        process = NetworkProcess(system)
        rate = system.config.sample_rate
        return FunctionSystem(type(system).__name__, threads=threads, function=process, rate=rate)
    if callable(system):
        name = getattr(system, "__name__", type(system).__name__)
        return FunctionSystem(name, threads=threads, function=system)
    wanted = "give a name, a path, a network or a function"
    raise QseError(f"no system to evaluate: {wanted}, not {system!r}")


def find_system(name: str, threads: int = 1, device: str = "cpu", trust: bool = False) -> System:
    """Return the system for "noisy", a model's name, or a path. QseError if it is none of them.

    device: where PyTorch computes. trust: see `load_network`. UsageError for another device than
    "cpu" with a system that PyTorch does not run.
    """
    path = Path(name)
    is_folder = name not in available() and path.is_dir() and not (path / GRAPH).is_file()
    if is_folder and weights_of(path).is_file():
        if device != "cpu":
            torch_device(device)  # refuses one that is not there
        return CheckpointSystem(path.resolve().name, path, threads, device, trust)
    if device != "cpu":
        raise UsageError(f"device={device} is for the folder of a run: {name} is not run by it")
    if name == "noisy":
        return NoisySystem("noisy")
    if is_folder:
        return FolderSystem(path.resolve().name, path, threads)
    graph = find(name)
    return ModelSystem(graph.parent.name if graph.name == GRAPH else graph.stem, graph, threads)

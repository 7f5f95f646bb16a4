"""qse: real-time speech enhancement with quaternion neural networks.

    qse.available()                                names of the trained models
    qse.denoise(audio, sample_rate)                noisy array -> enhanced array of the same shape
    engine = qse.load("live-base")                 a model in memory, ready for any number of streams
    stream = qse.Stream(engine, blocksize=480)     block by block: stream.process(block), stream.latency

None of these needs PyTorch. The layers, networks and training live in `qse.nn`, `qse.networks` and `qse.train`.
Nothing is sent anywhere: `import qse` sets ORT_DISABLE_TELEMETRY, of ONNX Runtime, to 1 where it is not set. Import it
before onnxruntime, which looks at that once.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import QseError
    from .runtime.engine import Engine
    from .runtime.stream import Stream, denoise
    from .runtime.zoo import available, load

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # else ONNX Runtime keeps a record of every load and sends it home

__version__ = "0.1.0"
__all__ = ["Engine", "QseError", "Stream", "__version__", "available", "denoise", "load"]

MODULES = {
    "Engine": "runtime.engine",
    "QseError": "errors",
    "Stream": "runtime.stream",
    "available": "runtime.zoo",
    "denoise": "runtime.stream",
    "load": "runtime.zoo",
}


def __getattr__(name: str) -> Any:
    """Fetch a public name from its room when it is first asked for: `import qse` itself costs nothing."""
    if name not in MODULES:
        raise AttributeError(f"module 'qse' has no attribute {name!r}")
    return getattr(import_module(f".{MODULES[name]}", __name__), name)


def __dir__() -> list[str]:
    return __all__

"""qse: real-time speech enhancement with quaternion neural networks.

    qse.available()                           names of the trained models
    qse.denoise(audio, sample_rate)           noisy array -> enhanced array of the same shape
    qse.denoise_file("noisy.wav")             noisy file -> path of the enhanced file
    engine = qse.load("live-base")            a model in memory, ready for any number of streams
    stream = qse.Stream(engine, 48000)        block by block: stream.process(block), stream.latency

None of these needs PyTorch. The layers, networks and training are in `qse.nn`, `qse.networks` and
`qse.train`. Nothing is sent over the network: `import qse` sets ORT_DISABLE_TELEMETRY to 1 unless
it is set. Import it before onnxruntime, which reads the variable once.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import QseError
    from .runtime.denoise import denoise
    from .runtime.denoise_file import denoise_file
    from .runtime.engine import Engine
    from .runtime.stream import Stream
    from .runtime.zoo import available, load

# else ONNX Runtime records and sends every load
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

__version__ = "0.1.0"
__all__ = [
    "Engine",
    "QseError",
    "Stream",
    "__version__",
    "available",
    "denoise",
    "denoise_file",
    "load",
]

MODULES = {
    "Engine": "runtime.engine",
    "QseError": "errors",
    "Stream": "runtime.stream",
    "available": "runtime.zoo",
    "denoise": "runtime.denoise",
    "denoise_file": "runtime.denoise_file",
    "load": "runtime.zoo",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import qse` itself loads
    nothing heavy."""
    if name not in MODULES:
        raise AttributeError(f"module 'qse' has no attribute {name!r}")
    return getattr(import_module(f".{MODULES[name]}", __name__), name)


def __dir__() -> list[str]:
    return __all__

"""Benchmarks of speed and cost: one module per topic, here or in the papers' laboratory, each with
a function that returns a `Table`.

    table = topics()["attention"](Request(seconds=2.0))

Compared calls run in turn in one process, so that other load on the machine affects all of them
alike; first runs are not counted. Times hold for one machine at one moment: compare within a table,
not between tables.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from ..errors import UsageError
from ..laboratory import BENCHMARKS
from ..references import imported
from .table import Table

TOPICS = {
    "stream": "qse.bench.stream:bench",
    "graphs": "qse.bench.count:bench",
    "train": "qse.bench.train:bench",
    **BENCHMARKS,
}
WITHOUT_MODELS = ("attention", "layers")
ON_A_DEVICE = ("offline",)


@dataclass(frozen=True)
class Request:
    """Settings of a benchmark: models by name or path (for topics that take some), seconds per row,
    threads, device of PyTorch (for topics in ON_A_DEVICE)."""

    models: tuple[str, ...] = ()
    seconds: float = 3.0
    threads: int = 1
    device: str = "cpu"


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Let PyTorch compute with `count` threads within the context."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def topics() -> dict[str, Callable[[Request], Table]]:
    """Return the function of every topic by name; its module is imported when it is called."""
    return {name: partial(_bench, name) for name in TOPICS}


def _bench(topic: str, request: Request) -> Table:
    if request.models and topic in WITHOUT_MODELS:
        raise UsageError(f"{topic} is measured without a model: leave {request.models[0]} out")
    if request.device != "cpu" and topic not in ON_A_DEVICE:
        raise UsageError(f"{topic} is measured on the CPU: leave device={request.device} out")
    return imported(TOPICS[topic])(request)

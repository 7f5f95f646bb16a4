"""Speed, measured or counted: one room per topic, each a function that returns a `Table`.

    table = topics()["attention"](Request(seconds=2.0))

What is compared runs in turn in one process, so that whatever else the machine does meets all alike; what a first run
costs is left out. Times are of this machine at this moment: compare within a table, not between tables.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module

from ..errors import UsageError
from .table import Table

TOPICS = ("stream", "graphs", "precision", "attention", "layers", "offline", "train")
WITHOUT_MODELS = ("attention", "layers")


@dataclass(frozen=True)
class Request:
    """What to measure: models by name or path where a topic takes some, seconds for every row, threads."""

    models: tuple[str, ...] = ()
    seconds: float = 3.0
    threads: int = 1


def topics() -> dict[str, Callable[[Request], Table]]:
    """Every topic's function, by name; its room is imported when it is called."""
    return {name: partial(_bench, name) for name in TOPICS}


def _bench(topic: str, request: Request) -> Table:
    if request.models and topic in WITHOUT_MODELS:
        raise UsageError(f"{topic} is measured without a model: leave {request.models[0]} out")
    return import_module(f".{topic}", __name__).bench(request)

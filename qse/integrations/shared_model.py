"""Load a model in a thread, once per process, for any number of streams."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Lock

from ..runtime.bands import FULL_BAND
from ..runtime.zoo import WIDE_BAND, Model, find, load, resolve, streaming

_lock = Lock()
_known: dict[tuple[str, Path], "Future[Model]"] = {}


def shared(model: str | Path | Model) -> "Future[Model]":
    """Return a future of `model` with its graphs for all sample rates; `model` as in `qse.load`, or
    what that returns.

    A name or path is loaded once per process, without stopping the caller. Raises QseError for an
    unknown one; the future raises it for a model that is damaged or cannot stream.
    """
    if not isinstance(model, str | Path):
        return _in_thread(lambda: _completed(model))

    key = (str(model), find(model))
    with _lock:
        known = _known.get(key)
        if known is None or (known.done() and known.exception()):
            known = _in_thread(lambda: _completed(load(model)))
            _known[key] = known
        return known


def _completed(model: Model) -> Model:
    """Load the graphs of both bands. Raises QseError for a model that cannot stream."""
    for sample_rate in (WIDE_BAND, FULL_BAND):
        streaming(resolve(model, sample_rate))
    return model


def _in_thread(work: Callable[[], Model]) -> "Future[Model]":
    pool = ThreadPoolExecutor(1, "qse load")
    future = pool.submit(work)
    pool.shutdown(wait=False)
    return future

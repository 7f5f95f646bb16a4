"""Evaluation: metrics of arrays, the official corpora as lists of pairs, tables with their intervals, pictures.

score_pair(clean=, enhanced=, sample_rate=)   scores of one utterance in memory
score(pairs, metrics=, jobs=)                 one row each for many; summary(rows): means with 95 % intervals
evaluate(system, pairs, out, metrics=)        a system over a folder or corpus, resumable, as `qse evaluate`
"""

from importlib import import_module
from typing import Any

MODULES = {
    "METRICS": ".metrics",
    "evaluate": ".runner",
    "find_system": ".systems",
    "pair_folders": "..data.datasets",
    "score": ".arrays",
    "score_pair": ".metrics",
    "summary": ".report",
}
__all__ = list(MODULES)


def __getattr__(name: str) -> Any:
    """Fetch a name from its room when it is first asked for."""
    if name not in MODULES:
        raise AttributeError(f"module 'qse.evaluate' has no attribute {name!r}")
    return getattr(import_module(MODULES[name], __name__), name)


def __dir__() -> list[str]:
    return __all__

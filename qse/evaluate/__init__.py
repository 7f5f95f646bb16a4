"""Evaluation: metrics of arrays, scores of systems on test sets, tables with intervals, plots.

score_pair(clean=, enhanced=, sample_rate=)   scores of one utterance in memory
score(pairs, metrics=, jobs=)                 one row each for many; summary(rows): means with 95 % intervals
evaluate(system, pairs, out, metrics=)        a system on a folder or corpus, resumable
run_evaluation(EvaluationRequest(...))        the same with tables and plots, as `qse evaluate`
"""

from importlib import import_module
from typing import Any

MODULES = {
    "METRICS": ".metrics",
    "EvaluationData": ".evaluation",
    "EvaluationRequest": ".evaluation",
    "evaluate": ".runner",
    "find_system": ".systems",
    "pair_folders": "..data.datasets",
    "run_evaluation": ".evaluation",
    "score": ".arrays",
    "score_pair": ".metrics",
    "summary": ".report",
}
__all__ = list(MODULES)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in MODULES:
        raise AttributeError(f"module 'qse.evaluate' has no attribute {name!r}")
    return getattr(import_module(MODULES[name], __name__), name)


def __dir__() -> list[str]:
    return __all__

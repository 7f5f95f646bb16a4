"""Evaluation: metrics of arrays, scores of systems on test sets, tables with intervals, plots.

score_pair(clean=, enhanced=, sample_rate=)   scores of one utterance in memory
score(pairs, metrics=, jobs=)                 one row each for many
summary(rows)                                 means with 95 % intervals
evaluate(system, pairs, out, metrics=)        a model, network or function on files; resumable
add_metric(name, Metric(title, function))     a metric of one's own
"""

from typing import TYPE_CHECKING

from ..public_names import lazily

if TYPE_CHECKING:  # for editors and mypy
    from ..data.datasets import Pair, pair_folders, with_lead_in
    from .arrays import score
    from .computing_systems import System, find_system
    from .evaluation import Evaluation, evaluate
    from .metrics import METRICS, Metric, add_metric
    from .report import summary
    from .scoring import score_pair

__all__ = [
    "METRICS",
    "Evaluation",
    "Metric",
    "Pair",
    "System",
    "add_metric",
    "evaluate",
    "find_system",
    "pair_folders",
    "score",
    "score_pair",
    "summary",
    "with_lead_in",
]
MODULES = {
    ".metrics": ["METRICS", "Metric", "add_metric"],
    ".scoring": ["score_pair"],
    ".evaluation": ["Evaluation", "evaluate"],
    ".computing_systems": ["System", "find_system"],
    "..data.datasets": ["Pair", "pair_folders", "with_lead_in"],
    ".arrays": ["score"],
    ".report": ["summary"],
}
__getattr__, __dir__ = lazily(__name__, MODULES)

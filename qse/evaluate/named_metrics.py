"""Find the metrics that a list names: of the table, by an alias, or by "package.module:Name"."""

import hashlib
from collections.abc import Iterable
from difflib import get_close_matches
from inspect import getsourcefile, signature
from pathlib import Path
from typing import Any

from ..references import check_parameters, find_named
from .metrics import ALIASES, METRICS, Metric, add_metric, plain_name, version_of

ROLES = ("clean", "enhanced", "noisy")


def resolve(names: Iterable[str]) -> list[str]:
    """Return the names in METRICS for names and aliases in any case, with - or _, and for
    "package.module:Name" of a Metric or its function, which is added to the table by the name
    behind the colon.

    Raises ValueError for an unknown one.
    """
    found: dict[str, None] = {}
    for name in names:
        if ":" in name:
            found[_added(name.strip())] = None
            continue
        plain = plain_name(name)
        if plain not in METRICS and plain not in ALIASES:
            close = get_close_matches(plain, [*METRICS, *ALIASES], 1)
            meant = f"did you mean {close[0]}? " if close else ""
            known = ", ".join(METRICS)
            own = "and your own as package.module:Name"
            raise ValueError(f"no metric called {name!r}; {meant}there are {known}, {own}")
        found |= dict.fromkeys(ALIASES.get(plain, (plain,)))
    return list(found)


def _added(reference: str) -> str:
    """Add the metric of a reference to the table, and return its name there."""
    metric = find_named(reference, {}, "metric")
    name = plain_name(reference.rpartition(":")[2].rpartition(".")[2])
    if not isinstance(metric, Metric):
        metric = _of_function(reference, name, metric)
    version = f"{reference} {_digest(metric.function)}"
    if name in METRICS and version_of(name) == version:
        return name
    add_metric(name, metric, version)
    return name


def _of_function(reference: str, name: str, function: Any) -> Metric:
    """Return a function as a metric: the signals that it takes are those that it needs."""
    if not callable(function):
        raise ValueError(f"metric {reference!r}: is neither a qse.evaluate.Metric nor a function")
    check_parameters(function, (*ROLES, "sample_rate"), f"metric {reference!r}")
    parameters = signature(function).parameters
    for key in ("enhanced", "sample_rate"):
        if key not in parameters:
            raise ValueError(f"metric {reference!r}: let it take {key!r}, also where it is unused")
    return Metric(
        name, function, needs_clean="clean" in parameters, needs_noisy="noisy" in parameters
    )


def _digest(function: Any) -> str:
    """Return what changes with the file that defines a function: scores are then computed anew."""
    path = getsourcefile(function)
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16] if path else ""

"""Measure the time of calls that take turns, so that all meet the same load of the machine."""

import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from itertools import cycle
from typing import TypeVar

import numpy as np

from .engine import Engine

GROUP = 200  # hops in a row, so that few of them run with the caches full of another model
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Times:
    """Seconds of every measured call, in order."""

    seconds: np.ndarray

    def quantile(self, q: float) -> float:
        return float(np.quantile(self.seconds, q))

    @property
    def median(self) -> float:
        return self.quantile(0.5)

    @property
    def mean(self) -> float:
        return float(self.seconds.mean())

    @property
    def longest(self) -> float:
        return float(self.seconds.max())


def race(
    calls: Mapping[Key, Callable[[], object]],
    seconds: float,
    *,
    group: int = 1,
    warmup: int = 3,
    least: int = 3,
) -> dict[Key, Times]:
    """Run `calls` in turn, `group` in a row, for `seconds` per call and at least `least` groups;
    return their times.

    First each call runs `warmup` groups, or half a second, without being measured.
    """
    for call in calls.values():
        began = time.perf_counter()
        runs = 0
        while runs < warmup * group and time.perf_counter() - began < 0.5:
            call()
            runs += 1
    times: dict[Key, list[float]] = {name: [] for name in calls}
    end = time.perf_counter() + seconds * len(calls)
    turns = 0
    while turns < least or time.perf_counter() < end:
        for name, call in calls.items():
            for _ in range(group):
                began = time.perf_counter()
                call()
                times[name].append(time.perf_counter() - began)
        turns += 1
    return {name: Times(np.array(list_of)) for name, list_of in times.items()}


def stepper(engine: Engine) -> Callable[[], np.ndarray]:
    """Return a call that enhances the next hop of noise at -20 dBFS, from two seconds, or one hop
    where that is longer, that are repeated."""
    rng = np.random.default_rng(0)
    hops = max(1, 2 * engine.sample_rate // engine.hop_length)
    audio = 0.1 * rng.standard_normal((hops, engine.hop_length)).astype(np.float32)
    session = engine.session()
    endless = cycle(audio)
    return lambda: session.step(next(endless))

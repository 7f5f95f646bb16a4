"""Check before a session whether this machine is fast enough for the model, and if not, for which
one it is."""

from time import perf_counter

import numpy as np

from ..errors import QseError
from ..runtime.engine import Engine
from ..runtime.meter import Meter
from ..runtime.stream import Stream
from ..runtime.zoo import available, load, streaming

TRIAL = 0.5  # seconds of sound; processing stops after twice that time
ENOUGH = 0.7  # median RTF above which dropouts are expected


def speed(engine: Engine) -> float:
    """Return the median RTF of the model on this machine, measured on noise for half a second."""
    hop = 0.1 * np.random.default_rng(0).standard_normal(engine.hop_length).astype(np.float32)
    stream = Stream(engine, blocksize=len(hop))
    meter = Meter(engine.sample_rate)
    begin = perf_counter()
    while meter.samples < TRIAL * engine.sample_rate and perf_counter() - begin < 2 * TRIAL:
        start = perf_counter()
        stream.process(hop)
        meter.add(len(hop), perf_counter() - start)
    return meter.quantile(0.5) * engine.sample_rate / engine.hop_length


def advice(engine: Engine, threads: int = 1) -> str | None:
    """Return a warning that the model is too slow here and names one that is not; None if it is
    fast enough."""
    rtf = speed(engine)
    if rtf <= ENOUGH:
        return None
    others = {name: _speed_of(name, threads) for name in available() if name != engine.name}
    fitting = {name: other for name, other in others.items() if other <= ENOUGH}
    takes = f"it takes {rtf:.2f} s for a second of sound, so expect dropouts"
    text = f"{engine.name} is too slow for this machine: {takes}"
    if not fitting:
        cure = "close other programs or use a faster machine"
        return f"{text}; no installed model is fast enough, so {cure}"
    best = max(fitting, key=lambda name: fitting[name])
    return f"{text}; {best} would fit ({fitting[best]:.2f} s)"


def _speed_of(name: str, threads: int) -> float:
    try:
        return speed(streaming(load(name, threads)))
    except QseError:
        return np.inf

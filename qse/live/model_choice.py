"""Choose a model by the latency that a live session may have."""

from ..errors import QseError, UsageError
from ..runtime.zoo import DEFAULT_MODEL, RECORDING_MODEL, available, load, streaming


def model_within(seconds: float) -> str:
    """Return the name of the best installed model that delays by at most `seconds`.

    That is the time in which a hop is collected, and the model's latency. The one that looks ahead
    goes before the default one, and that before others, of which the slowest is taken. Raises
    UsageError if all take longer.
    """
    installed = available()
    preferred = [name for name in (RECORDING_MODEL, DEFAULT_MODEL) if name in installed]
    latencies = {name: _latency(name) for name in installed}
    for name in preferred:
        if latencies[name] <= seconds:
            return name

    fitting = [name for name in installed if latencies[name] <= seconds]
    if fitting:
        return max(fitting, key=lambda name: latencies[name])
    least = 1000 * min(latencies.values())
    raise UsageError(f"no model is that fast: the least delay is {least:.0f} ms")


def _latency(name: str) -> float:
    """Return the delay of a model in seconds; infinite for one that needs complete recordings."""
    try:
        engine = streaming(load(name))
    except QseError:
        return float("inf")
    return (engine.latency + engine.hop_length) / engine.sample_rate

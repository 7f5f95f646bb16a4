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
    delays: dict[str, float] = {}
    for name in (RECORDING_MODEL, DEFAULT_MODEL):
        if name not in installed:
            continue
        delays[name] = _delay(name)
        if delays[name] <= seconds:
            return name  # before the others are loaded

    for name in installed:
        if name not in delays:
            delays[name] = _delay(name)
    fitting = [name for name in installed if delays[name] <= seconds]
    if fitting:
        return max(fitting, key=lambda name: delays[name])
    least = 1000 * min(delays.values())
    raise UsageError(f"no model is that fast: the least delay is {least:.0f} ms")


def _delay(name: str) -> float:
    """Return the delay of a model in seconds; infinite for one that needs complete recordings."""
    try:
        return streaming(load(name)).delay
    except QseError:
        return float("inf")

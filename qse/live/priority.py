"""Raise the scheduling priority while sound runs, and shorten the time slices of the interpreter's
threads.

The interpreter runs one thread at a time, so an audio callback waits for the thread that runs.
Threads that start inside `steady` inherit the priority.
"""

import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

SLICE = 0.0005  # seconds that a thread may keep the interpreter while another one waits
REALTIME = 5  # as sound servers ask for
NICE = -11  # as sound servers ask for


@contextmanager
def steady(urgent: bool = True) -> Iterator[None]:
    """Set short time slices and short garbage collections; if `urgent`, ask for real-time or at
    least high priority.

    Linux grants it to root and to members of a group with an rtprio limit; other systems are not
    asked.
    """
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SLICE)
    gc.collect()
    gc.freeze()
    restore = _raise() if urgent else None
    try:
        yield
    finally:
        if restore:
            restore()
        gc.unfreeze()
        sys.setswitchinterval(interval)


def _raise() -> Callable[[], object] | None:
    """Raise the priority; return the function that restores it, None if nothing was changed."""
    if not hasattr(os, "sched_setscheduler") or os.sched_getscheduler(0) in (
        os.SCHED_FIFO,
        os.SCHED_RR,
    ):
        return None
    policy = os.sched_getscheduler(0)
    parameters = os.sched_getparam(0)
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(REALTIME))
        return lambda: os.sched_setscheduler(0, policy, parameters)
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, min(nice, NICE))
        return lambda: os.setpriority(os.PRIO_PROCESS, 0, nice)
    return None

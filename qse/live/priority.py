"""Whose turn it is: while sound runs, its threads go before those of other programs, and none keeps the others waiting.

The interpreter runs one thread at a time, so that an audio callback waits for whichever holds it. Threads that start
inside `steady` inherit the priority.
"""

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

TURN = 0.0005  # seconds that a thread may keep the interpreter while another wants it
REALTIME, NICE = 5, -11  # what sound servers ask for


@contextmanager
def quiet() -> Iterator[None]:
    """Keep what sound libraries print about themselves off the terminal; what Python prints still gets there."""
    before, error = os.dup(2), sys.stderr
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        with os.fdopen(os.dup(2), "w", buffering=1) as kept:
            sys.stderr = kept if error is sys.__stderr__ else error
            os.dup2(nowhere, 2)
            yield
    finally:
        os.dup2(before, 2)
        sys.stderr = error
        os.close(nowhere)
        os.close(before)


@contextmanager
def steady(urgent: bool = True) -> Iterator[None]:
    """Short turns and short garbage collections; if `urgent`, real-time priority or at least a high one, where the
    system grants it (Linux: root, or members of a group with an rtprio limit; elsewhere nothing is asked for)."""
    turn = sys.getswitchinterval()
    sys.setswitchinterval(TURN)
    gc.collect()
    gc.freeze()
    before = _raise() if urgent else None
    try:
        yield
    finally:
        if before is not None:
            os.sched_setscheduler(0, *before)
        gc.unfreeze()
        sys.setswitchinterval(turn)


def _raise() -> "tuple[int, os.sched_param] | None":
    """The policy and parameters to return to, None if there are none."""
    if not hasattr(os, "sched_setscheduler") or os.sched_getscheduler(0) in (os.SCHED_FIFO, os.SCHED_RR):
        return None
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(REALTIME))
    except OSError:
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, NICE)
        return None
    return before

"""Prepare a process that works beside a training.

This file imports nothing heavy: some workers do not need PyTorch.
"""

import os
import signal
from multiprocessing import parent_process
from threading import Thread


def begin() -> None:
    """Prepare a worker: it ends with its parent, which handles signals and finishes its step."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent:
        parent.join()
        os._exit(0)

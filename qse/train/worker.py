"""Prepare a process that works beside a training.

This file imports nothing heavy: some workers do not need PyTorch.
"""

import signal

from ..evaluate.pool import end_with_parent


def begin() -> None:
    """Prepare a worker: it ends with its parent, which handles signals and finishes its step."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    end_with_parent()

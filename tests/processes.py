"""Work of processes that end early. They import little, so that they start fast."""

import os
import signal


def interrupted(rank: int, processes: int) -> None:
    """Ctrl-C while the corpora are read: the terminal signals all processes."""
    os.kill(os.getppid(), signal.SIGINT)
    raise KeyboardInterrupt


def killed(rank: int, processes: int) -> None:
    """End as a process does when the system runs out of memory."""
    os.kill(os.getpid(), signal.SIGKILL)


def ends_at_three(task: int) -> int:
    """Return the task, but end the process at 3, as a fault in compiled code would."""
    if task == 3:
        os._exit(1)
    return task

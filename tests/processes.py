"""Work of processes that end early. They import little, so that they start fast."""

import os
import signal
import time
from contextlib import suppress
from threading import Thread

NOT_UTF_8 = os.fsdecode(b"\xff") if os.name == "posix" else "a"  # a name


def interrupted(rank: int, processes: int) -> None:
    """Ctrl-C while the corpora are read: the terminal signals all processes."""
    os.kill(os.getppid(), signal.SIGINT)
    raise KeyboardInterrupt


def killed(rank: int, processes: int) -> None:
    """End as a process does when the system runs out of memory."""
    os.kill(os.getpid(), signal.SIGKILL)


def killed_and_noticed_by_another(rank: int, processes: int) -> None:
    """End the first process by a signal, but only after the second has ended for the loss of it."""
    from qse.train.exchange import LostProcess, gather

    if rank == 0:
        signal.signal(signal.SIGTERM, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    gather([])
    if rank == 1:
        raise LostProcess("connection closed")
    while True:
        signal.pause()


def raised_and_noticed_by_another(rank: int, processes: int) -> None:
    """Let both processes end: the first by an error, the second for the loss of the first."""
    from qse.errors import QseError
    from qse.train.exchange import gather

    if rank == 0:
        raise QseError(f"{NOT_UTF_8}: no such file")
    gather([])


def failed_and_noticed_by_another(rank: int, processes: int) -> None:
    """Let both processes end: the second first, for the loss of the first, which has a fault."""
    from qse.train.exchange import LostProcess, gather

    _, second = gather([os.getpid()])
    if rank == 1:
        gather([])
        raise LostProcess("connection closed")
    Thread(target=_wait_for_the_end, args=[second]).start()
    gather([])
    raise ValueError("a fault of the code")


class Instruction:
    """An object that makes a folder where it is unpickled."""

    def __init__(self, path: str):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def sends_an_instruction(rank: int, processes: int, path: str) -> None:
    """Let the first process send to the other what makes a folder where it is unpickled."""
    from qse.train.exchange import gather

    gather([Instruction(path)] if rank == 0 else [])


def sends_items(rank: int, processes: int) -> None:
    """Exchange items of unequal size, with numbers, texts and tensors."""
    import torch

    from qse.train.exchange import gather

    items = [(number, {"name": [0.5 * number]}, torch.ones(number)) for number in range(3)]
    own = items[:1] if rank == 0 else items[1:]
    assert str(gather(own)) == str(items)


def _wait_for_the_end(process: int) -> None:
    with suppress(ProcessLookupError):
        while True:
            os.kill(process, 0)
            time.sleep(0.01)


def ends_at_three(task: int) -> int:
    """Return the task, but end the process at 3, as a fault in compiled code would."""
    if task == 3:
        os._exit(1)
    return task


def ends_without_speech(output):
    """Score an output, but end the process at one without speech, as a fault of PESQ would."""
    from qse.evaluate.scoring import score_pair

    number, clean, enhanced, rate, metrics = output
    if not clean.any():
        os._exit(1)
    return number, score_pair(clean=clean, enhanced=enhanced, sample_rate=rate, metrics=metrics)


def tells_its_process(path: str) -> None:
    """Write the number of this process to a file, then go on for longer than any test."""
    with open(path, "w") as file:
        file.write(f"{os.getpid()}\n")
    time.sleep(600)


def is_running(number: int) -> bool:
    """Return whether there is a process of this number that has not ended."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return not _is_zombie(number)


def _is_zombie(number: int) -> bool:
    """Return whether a process has ended and nobody has asked for its status (Linux)."""
    try:
        with open(f"/proc/{number}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return False

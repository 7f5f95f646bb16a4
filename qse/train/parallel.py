"""Train one network in several processes: equal parameters, different batches, averaged gradients.

The processes are started here, on one machine, or by torchrun, on one or several: then its
environment variables say which one this is.

On a CPU one process per core with one thread each is fastest, for the network's operations are too
small to share.
"""

import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path, PurePath
from typing import Any

import torch
from torch.multiprocessing import ProcessExitedException, ProcessRaisedException

from ..audio.private_folder import private_folder, temporary_in
from ..errors import QseError, UsageError
from ..spawning import safe_path
from ..stop_signals import handled_by
from .exchange import LostProcess, count, gather, process_group

TORCHRUN = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}
FORM: Any = {"encoding": "utf-8", "errors": "surrogateescape"}  # sentences name files: any bytes


def started_by_torchrun() -> bool:
    """Return whether this is one of the processes that torchrun has started."""
    return os.environ.keys() >= TORCHRUN


def is_first() -> bool:
    """Return whether this process writes the files of the run and tells its user about it."""
    return os.environ.get("RANK", "0") == "0" or not started_by_torchrun()


def processes_in_all(processes: int) -> int:
    """Return how many processes train together: those of torchrun, else `processes`.

    Raises UsageError where torchrun and `processes` both ask for several.
    """
    if not started_by_torchrun():
        return processes
    if processes > 1:
        raise UsageError(f"processes={processes}: torchrun has started them; leave it out")
    return int(os.environ["WORLD_SIZE"])


def processes_here(processes: int) -> int:
    """Return how many of them run on this machine."""
    return int(os.environ["LOCAL_WORLD_SIZE"]) if started_by_torchrun() else processes


def own_device(name: str, rank: int) -> torch.device:
    """Return the device of this process; of several on GPUs each has its own."""
    if name != "cuda" or count() == 1:
        return torch.device(name)
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", rank)))


def launch(work: Callable[..., None], processes: int, *arguments: Any) -> None:
    """Call work(rank, processes, *arguments) in each of `processes` processes; in this one where
    there is only one, or where torchrun has started it.

    Raises the QseError of a process; RuntimeError with the traceback of any other exception.
    """
    if started_by_torchrun():
        rank = int(os.environ["RANK"])
        with process_group("env://", rank, processes):
            work(rank, processes, *arguments)
            gather([])  # wait for the files of the first one
        return
    if processes == 1:
        work(0, 1, *arguments)
        return
    with private_folder() as folder, _signals_passed_on() as (children, received):
        with safe_path(), temporary_in(folder):  # what processes report is unpickled
            spawned = torch.multiprocessing.spawn(
                _join, (processes, folder, work, arguments), processes, join=False
            )
        children.extend(spawned.processes)
        for number in received:  # while the processes were started
            _pass_on(number, children)
        try:
            # the others end by themselves, or are terminated
            while not spawned.join(grace_period=10):
                pass
        except (ProcessRaisedException, ProcessExitedException) as error:
            reason = folder / "reason"
            if reason.exists():
                raise QseError(reason.read_text(**FORM)) from None
            failure = folder / "failure"
            if failure.exists():
                cause = failure.read_text(**FORM)
                raise RuntimeError(f"a process of the run failed:\n{cause}") from None
            if received:  # before the processes had their handlers
                raise SystemExit(128 + received[0]) from None
            lost = folder / f"lost-{error.error_index}"
            sentence = _end(spawned.processes, error, lost)
            if not sentence:
                raise
            raise QseError(
                f"{sentence}; if there is a checkpoint, resume=True continues from there"
            ) from None


def _end(processes: list[BaseProcess], error: Exception, lost: Path) -> str:
    """Return how a process ended without an exception of its own; empty if one raised `error`.

    lost: the file that exists if it raised it because it had lost another one. Where a signal has
    ended that one, this is the cause, even if it was noticed later.
    """
    if isinstance(error, ProcessExitedException):
        return str(error)
    if not lost.exists():
        return ""
    for number, process in enumerate(processes):
        code = process.exitcode or 0
        if code < 0 and code != -signal.SIGTERM:  # which ends the others
            return f"process {number} terminated with signal {signal.Signals(-code).name}"
    return lost.read_text(**FORM)


@contextmanager
def _signals_passed_on() -> Iterator[tuple[list[BaseProcess], list[int]]]:
    """Pass requests to stop on to the processes that train: they finish their step and write a
    checkpoint.

    Yields a list to put these processes in, and the list of the signals that came.
    """
    children = list[BaseProcess]()
    received = list[int]()

    def handle(number: int, _: Any) -> None:
        received.append(number)
        _pass_on(number, children)

    with handled_by(handle):
        yield children, received


def _pass_on(number: int, children: list[BaseProcess]) -> None:
    if number != signal.SIGINT:  # which they receive from the terminal as well
        for process in children:
            process.terminate()


def _join(
    rank: int, processes: int, folder: Path, work: Callable[..., None], arguments: tuple
) -> None:
    if interface := loopback(sys.platform):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", interface)
    try:
        with process_group(rendezvous(folder), rank, processes), _reported(folder):
            work(rank, processes, *arguments)
    except LostProcess as error:
        (folder / f"lost-{rank}").write_text(error.reason, **FORM)
        raise
    except KeyboardInterrupt:  # which torch would take for a normal end
        raise SystemExit(128 + signal.SIGINT) from None


def loopback(system: str) -> str | None:
    """Return the name of the interface of this machine to itself; None where it has no fixed one,
    as on Windows."""
    return {"linux": "lo", "darwin": "lo0"}.get(system)


def rendezvous(folder: PurePath) -> str:
    """Return the address at which processes meet, a file in `folder`, as torch reads it: without
    escapes, and with a slash in front of the letter of a drive."""
    return f"file:///{folder.as_posix().removeprefix('/')}/rendezvous"


@contextmanager
def _reported(folder: Path) -> Iterator[None]:
    """Write the sentence of a QseError, or the traceback of another exception, to a file.

    This is done before the other processes notice the end of this one, and not for a lost process,
    which is the consequence of another end.
    """
    try:
        yield
    except LostProcess:
        raise
    except QseError as error:
        (folder / "reason").write_text(str(error), **FORM)
        raise
    except Exception:
        (folder / "failure").write_text(traceback.format_exc(), **FORM)
        raise

"""Take the parts of a bundle that lie in a folder, or arrive there, into a store; refuse by name
what is none.

This is what a training's own process does before the first step, and another one beside it from
then on (`Watcher`), so that decoding does not stop the steps.
"""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from queue import Empty

from ..errors import QseError
from ..spawning import spawning
from .bundle_pack import PARTS
from .bundle_part import BundlePart, Refused
from .decoded_parts import DecodedParts

EVERY = 1.0  # seconds between two looks at a folder
Say = Callable[[str], object]  # told one line
State = tuple[int, int]  # size and time of a file


class Intake:
    """Look at a folder again and again.

    say: told one line for each file that is refused. arriving: files may still be on their way, so
    that one is refused only if it has not changed since the look before.
    """

    def __init__(self, folder: Path, store: DecodedParts, say: Say, arriving: bool = False):
        self.folder = folder
        self.store = store
        self.say = say
        self.arriving = arriving
        self._settled: dict[Path, State] = {}
        self._faulty: dict[Path, State] = {}
        self._names: dict[str, str] = {}  # identity: file in this folder

    def look(self, most: int | None = None) -> int:
        """Take in what is new, at most `most` parts; return how many these were."""
        taken = 0
        for path in sorted(self.folder.glob(PARTS)):
            if taken == most:
                break
            try:
                status = path.stat()
            except OSError:  # it has gone
                continue
            state = (status.st_size, status.st_mtime_ns)
            if self._settled.get(path) != state:
                taken += self._take_or_refuse(path, state)
        return taken

    def _take_or_refuse(self, path: Path, state: State) -> bool:
        try:
            added = self._take(path)
        except Refused as error:
            if self.arriving and self._faulty.get(path) != state:
                self._faulty[path] = state
                return False
            self.say(str(error))
            added = False
        except OSError as error:  # of the store
            self.say(f"{path.name} cannot be taken in ({error.strerror}): make room")
            added = False
        self._settled[path] = state
        return added

    def _take(self, path: Path) -> bool:
        with BundlePart(path) as part:
            other = self._names.setdefault(part.identity, path.name)
            if other != path.name and (self.folder / other).exists():
                raise Refused(f"{path.name} repeats {other}: remove it")
            for found in self.store.found().values():
                if found.bundle != part.index.bundle:
                    cause = f"is of another bundle than {found.name}"
                    raise Refused(f"{path.name} {cause}: move it to a folder of its own")
                if found.part == part.index.part and found.identity != part.identity:
                    cause = f"repeats part {found.part}, packed otherwise"
                    raise Refused(f"{path.name} {cause}: remove it")
            return self.store.add(part)


class Watcher:
    """A process that takes in the parts that arrive in a folder, until `close`."""

    def __init__(self, folder: Path, store: DecodedParts):
        context = spawning()
        self._lines = context.Queue()
        self._process = context.Process(
            target=_watch, args=(folder, store, self._lines), daemon=True
        )
        self._process.start()
        self._ended = False

    def lines(self) -> list[str]:
        """Return what is to be told to the user since the last call."""
        found = []
        while True:
            try:
                found.append(self._lines.get_nowait())
            except Empty:
                break
        if not self._ended and not self._process.is_alive():
            self._ended = True
            code = self._process.exitcode
            found.append(
                f"the process that takes in parts has ended (status {code}): training goes on with "
                "those that it has; start it again with resume=True for more"
            )
        return found

    def close(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.join()
        self._lines.close()


def _watch(folder: Path, store: DecodedParts, lines: "multiprocessing.Queue[str]") -> None:
    """Look at a folder until the process that trains has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # that process decides when to stop
    if hasattr(os, "nice"):
        os.nice(5)
    parent = multiprocessing.parent_process()
    intake = Intake(folder, store, lines.put, arriving=True)
    while parent is None or parent.is_alive():
        intake.look()
        time.sleep(EVERY)


def first_parts(
    folder: Path, store: DecodedParts, say: Say, wait: bool = False, resume: bool = False
) -> None:
    """Take in the parts that lie in a folder.

    wait: only until there is enough to train on, and wait for more parts where there is not.
    resume: all that are there nevertheless, as a run may have trained on them. Raises QseError for
    a folder that is missing and, without `wait`, parts that are not enough to train on.
    """
    if not folder.is_dir():
        raise QseError(f"{folder}: no such folder; name the one with the parts of a bundle")
    intake = Intake(folder, store, say, arriving=wait)
    if resume or not wait:
        intake.look()
    told = ""
    while lacking := store.lacks():
        if not wait:
            raise QseError(f"{folder}: there is no part with {lacking}; add parts of the bundle")
        if not intake.look(most=1):
            if lacking != told:
                say(f"waiting for a part with {lacking} in {folder}")
            told = lacking
            time.sleep(EVERY)

"""Trace one run of `qse denoise` as a reader follows it, and count what it opens.

    python tools/code_walk.py assets/noisy.wav out.flac [--model live-base] [--steps]

Each function of qse/audio and qse/runtime counts once, when it is first called. A stay is a row of
such calls in one module, a return is a stay in a module that was left before: returns = stays -
modules. The second line leaves out the functions that call no other module: a reader takes them by
their names, and goes on. A first run, which imports all modules, is not traced.

opens: how often the input was opened, by Python or by libsndfile; programs: how often ffmpeg and
ffprobe were started. Writes the enhanced file into a temporary folder.
"""

import argparse
import sys
import tempfile
import threading
from collections import Counter
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Any

import soundfile

import qse

PACKAGE = Path(qse.__file__).parent
COUNTED = ("audio", "runtime")


Call = tuple[str, str]  # module, function


class Walk:
    """The functions of qse in the order of their first calls, and what was opened meanwhile."""

    def __init__(self, source: Path):
        self.calls: dict[Call, None] = {}
        self.leading: set[Call] = set()  # functions that call other modules
        self.opens: Counter[str] = Counter()
        self.programs: Counter[str] = Counter()
        self._source = source.resolve()
        self._active = False

    def follow(self, frame: FrameType, event: str, _: Any) -> None:
        """Note the call of a function; for sys.setprofile."""
        call = called(frame) if event == "call" else None
        if call is None:
            return
        self.calls.setdefault(call)
        caller = frame.f_back
        while caller and called(caller) is None:
            caller = caller.f_back
        origin = called(caller) if caller else None
        if origin and origin[0] != call[0]:
            self.leading.add(origin)

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note opened files and started programs; for sys.addaudithook."""
        if not self._active:
            return
        if event == "open" and isinstance(arguments[0], str | bytes):
            self.opened(arguments[0], "Python")
        if event == "subprocess.Popen":
            self.programs[Path(arguments[0]).name] += 1

    def opened(self, path: str | bytes, reader: str) -> None:
        """Note that `path` is opened by `reader`, if it is the source."""
        text = path.decode() if isinstance(path, bytes) else path
        # a name alone is that of a file in a folder that is held open
        if text == self._source.name or Path(text).resolve() == self._source:
            self.opens[reader] += 1

    def run(self, target: Path, model: str) -> None:
        """Enhance the source."""
        plain = soundfile.SoundFile.__init__

        def counted(file: Any, path: Any, *arguments: Any, **settings: Any) -> None:
            if isinstance(path, str | bytes):
                self.opened(path, "libsndfile")
            plain(file, path, *arguments, **settings)

        sys.addaudithook(self.audit)
        loaded = qse.load(model)
        qse.denoise_file(self._source, target, loaded)
        soundfile.SoundFile.__init__ = counted
        threading.setprofile(self.follow)
        sys.setprofile(self.follow)
        self._active = True
        try:
            qse.denoise_file(self._source, target, loaded, overwrite=True)
        finally:
            self._active = False
            sys.setprofile(None)
            threading.setprofile(None)
            soundfile.SoundFile.__init__ = plain


def called(frame: FrameType) -> Call | None:
    """Return module and function of a frame; None for one that does not count."""
    code = frame.f_code
    path = Path(code.co_filename)
    if code.co_name.startswith("<") or path.parent.parent != PACKAGE:
        return None
    return (
        (path.relative_to(PACKAGE).as_posix(), code.co_qualname)
        if path.parent.name in COUNTED
        else None
    )


def stays(calls: list[Call]) -> list[tuple[str, list[str]]]:
    """Return the modules in their order, each with the functions of the stay."""
    found = []
    for module, row in groupby(calls, key=lambda call: call[0]):
        found.append((module, [name for _, name in row]))
    return found


def counted(calls: list[Call]) -> str:
    """Return how many stays, modules and returns a walk has."""
    rows = stays(calls)
    modules = {module for module, _ in rows}
    return f"{len(rows)} stays, {len(modules)} modules, {len(rows) - len(modules)} returns"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("source", type=Path)
    parser.add_argument("target", nargs="?", default="out.wav", help="a name; nothing is kept")
    parser.add_argument("--model", default="live-base")
    parser.add_argument("--steps", action="store_true", help="print every stay")
    choice = parser.parse_args()
    walk = Walk(choice.source)
    with tempfile.TemporaryDirectory() as folder:
        walk.run(Path(folder, choice.target), choice.model)

    calls = list(walk.calls)
    leading = [call for call in calls if call in walk.leading]
    if choice.steps:
        for module, names in stays(leading):
            print(f"{module}: {', '.join(names)}")
    print(f"all functions: {counted(calls)}")
    print(f"functions that lead to other modules: {counted(leading)}")
    opens = ", ".join(f"{count} by {reader}" for reader, count in walk.opens.items())
    programs = ", ".join(f"{name} {count}" for name, count in walk.programs.items())
    print(f"opens of the input: {walk.opens.total()} ({opens}); programs: {programs or 'none'}")


if __name__ == "__main__":
    main()

"""The modules of a sound server that make the virtual devices of qse, recognised by their names and
by the process that made them."""

import os
import re
from contextlib import suppress
from pathlib import Path

from ..errors import UsageError
from .pulse_server import PulseError, pactl

SINK = "qse_output"
SOURCE = "qse_microphone"
SPEAKER = "qse_speaker"
OWN = re.compile(rf"({SINK}|{SOURCE}|{SPEAKER})(_[A-Za-z0-9-]+)?(\.monitor)?")
NAME = re.compile(r"[A-Za-z0-9-]{1,20}")


def is_own(name: str) -> bool:
    """Return whether a source or sink of the server belongs to a virtual device of qse."""
    return OWN.fullmatch(name) is not None


class OwnModules:
    """The modules of one virtual device.

    kind: what messages call it. labels: the names that programs show, by the server's names; the
    modules are removed in the reverse order of these, since later ones rest on earlier ones.
    """

    def __init__(self, kind: str, labels: dict[str, str]):
        self.kind = kind
        self.labels = labels

    def load(self, module: str, kind: str, name: str, *arguments: str) -> None:
        """Load a module that makes the "sink" or "source" `name`, in the name of this process."""
        owner = _identity(os.getpid())
        properties = f'device.description="{self.labels[name]}" qse.owner="{owner}"'
        names = [f"{kind}_name={name}", f"{kind}_properties='{properties}'"]
        pactl("load-module", module, *arguments, *names)

    @property
    def are_complete(self) -> bool:
        """Return whether the server has all of them."""
        return len(self._found()) >= len(self.labels)

    def remove(self) -> int:
        """Remove them, whatever process made them; return how many."""
        found = self._found()
        for _, index, _ in sorted(found, reverse=True):
            with suppress(PulseError):  # gone already
                pactl("unload-module", index)
        return len(found)

    def owner(self) -> int | None:
        """Return the id of another running process that made them."""
        for _, _, arguments in self._found():
            owner = re.search(r"qse\.owner=\W*((\d+)\.\d+)", arguments)
            if owner is None or int(owner[2]) == os.getpid():
                continue
            if _identity(int(owner[2])) == owner[1]:
                return int(owner[2])
        return None

    def claim(self) -> None:
        """Raise UsageError if another running process made them."""
        owner = self.owner()
        if owner:
            cure = "end that qse live first, or take another name"
            raise UsageError(f"process {owner} already has a virtual {self.kind}: {cure}")

    def remove_abandoned(self) -> int:
        """Remove what a crashed process left; return how many modules. Raises UsageError if the
        process that made them is still running."""
        owner = self.owner()
        if owner:
            cure = "end that qse live, which removes it"
            raise UsageError(f"process {owner} is using the virtual {self.kind}: {cure}")
        return self.remove()

    def _found(self) -> list[tuple[int, str, str]]:
        """Return place in `labels`, index and arguments of each module that the server has."""
        found = []
        for line in pactl("list", "short", "modules").splitlines():
            row = line.split("\t")
            arguments = f"{row[2]} " if len(row) > 2 else ""
            for place, name in enumerate(self.labels):
                if re.search(rf"(sink|source)_name={name} ", arguments):
                    found.append((place, row[0], arguments))
        return found


def _identity(pid: int) -> str | None:
    """Return "<id>.<start time>" of a process, which no later process shares; None if there is
    none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return f"{pid}.{stat.rpartition(')')[2].split()[19]}"


def suffixes(name: str) -> tuple[str, str]:
    """Return what `--name` adds to names in the server and to labels. Raises UsageError for a name
    that is none."""
    if name and not NAME.fullmatch(name):
        rule = "1 to 20 letters, digits and hyphens"
        raise UsageError(f"{name!r} is no name for a virtual device: use {rule}")
    return (f"_{name}", f" {name}") if name else ("", "")

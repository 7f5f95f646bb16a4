"""A virtual microphone that other programs can choose: a sink to play into, and a source that gives
what was played.

    qse live -> sink "qse_output" -> its monitor -> source "qse_microphone" -> a meeting program

Both are modules of the sound server (PulseAudio, or PipeWire's server for it). Their arguments name
the process that made them, so that those of a process that crashed are recognised and removed. With
a name, as for a second microphone, it is added to the names of both.

Session managers store mute, volume and default devices by these names and restore them when the
devices are made again, also some time later. So they are set within the first SETTLE seconds in
which a session watches them; afterwards a change is a user's, and `check` says what it does to the
sound.
"""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from time import monotonic

from ..errors import UsageError
from .listeners import Listeners
from .pulse_server import PulseError, defaults, listed, pactl
from .pulse_system import PulseSystem

SINK = "qse_output"
SOURCE = "qse_microphone"
OWN = re.compile(rf"({SINK}|{SOURCE})(_[A-Za-z0-9-]+)?(\.monitor)?")
NAME = re.compile(r"[A-Za-z0-9-]{1,20}")
RATE = 48000  # Hz, that of meeting programs
SETTLE = 3.0  # seconds after the first check in which the server may restore an earlier state
FULL = "100%"  # volume
KINDS = ("sink", "source")  # of default devices


def is_own(name: str) -> bool:
    """Return whether a source or sink of the server belongs to a virtual microphone."""
    return OWN.fullmatch(name) is not None


class VirtualMicrophone:
    """A sink and a source of the sound server.

    sink, source: their names in the server. label: the name that programs show.
    output: name of the sink in a list of devices. listeners: the programs that record from it.
    node: PipeWire's id of the source, as `check` found it; empty on another server.
    """

    def __init__(self, name: str = ""):
        """`name`: distinguishes it from others, letters, digits and hyphens; UsageError for
        another."""
        if name and not NAME.fullmatch(name):
            rule = "1 to 20 letters, digits and hyphens"
            raise UsageError(f"{name!r} is no name for a virtual microphone: use {rule}")
        ending = f"_{name}" if name else ""
        suffix = f" {name}" if name else ""
        self.sink = SINK + ending
        self.source = SOURCE + ending
        self.label = f"qse microphone{suffix}"
        self._labels = {self.sink: f"qse output{suffix}", self.source: self.label}
        self.output = f"{self._labels[self.sink]} ({self.sink})"
        self.listeners = Listeners(self.source)
        self.node = ""
        self._orphans: list[str] = []  # recordings from one that a crashed process left
        self._former: dict[str, str] = {}  # the default devices before the creation
        self._checked: float | None = None  # when `check` was called first since then
        self._changing = Lock()  # held while the devices are made or removed
        self._closed = False

    def create(self) -> None:
        """Create both devices unless they exist, or `close` was called; keep the server's default
        devices as they are."""
        with self._changing:
            if not self._closed and len(self._modules()) < 2:
                self.remove()
                self._create()

    def _create(self) -> None:
        self._former = defaults()
        form = [f"rate={RATE}", "channels=1", "channel_map=mono"]
        pactl(*self._load("module-null-sink", "sink", self.sink, *form))
        master = f"master={self.sink}.monitor"
        pactl(*self._load("module-remap-source", "source", self.source, master))
        self._checked = None
        _restore_defaults(self._former)
        for kind, device in (("sink", self.sink), ("source", self.source)):
            pactl(f"set-{kind}-mute", device, "0")
            pactl(f"set-{kind}-volume", device, FULL)
        self.listeners.fetch(self._orphans)
        self._orphans = []

    def replace(self) -> None:
        """Remove what a crashed process left; `create` moves those who listened to it to the new
        devices."""
        self._orphans = self.listeners.present()
        self.remove()

    def close(self) -> None:
        """Remove the devices; nothing makes them again."""
        with self._changing:
            self._closed = True
            self.remove()

    def remove(self) -> int:
        """Remove the devices, whatever process made them; return the number of modules removed."""
        modules = self._modules()
        modules.sort(key=lambda module: self.source not in module[1])  # it rests on the sink
        for index, _ in modules:
            with suppress(PulseError):  # gone already
                pactl("unload-module", index)
        return len(modules)

    def owner(self) -> int | None:
        """Return the id of another running process that made the virtual microphone."""
        for _, arguments in self._modules():
            owner = re.search(r"qse\.owner=\W*((\d+)\.\d+)", arguments)
            if owner is None or int(owner[2]) == os.getpid():
                continue
            if _identity(int(owner[2])) == owner[1]:
                return int(owner[2])
        return None

    def check(self) -> str:
        """Return what keeps programs from hearing what they should, in one sentence; empty if
        nothing does.

        Within SETTLE seconds after the first call since the creation, correct it instead. The
        default source stays while programs listen, for the server would move them with it to
        another microphone. Call `listeners.look` before.
        """
        if self._checked is None:
            self._checked = monotonic()
        changes = list(self._changes())
        if monotonic() - self._checked < SETTLE:
            for command, device, value, _ in changes:
                pactl(command, device, value)
            _restore_defaults(self._former, ["sink"] if self.listeners.heard else KINDS)
            return ""
        if changes:
            return changes[0][-1]
        if self.listeners.default_sink != self.sink:
            return ""
        label = self._labels[self.sink]
        danger = "what the desktop plays goes into the virtual microphone"
        return f"{label} is the default output, so {danger}: choose another in the sound settings"

    def _changes(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield for each mute and volume that was changed the arguments of pactl that undo it, and
        a sentence."""
        for kind, device in (("sink", self.sink), ("source", self.source)):
            label = self._labels[device]
            state = next((fields for fields in listed(f"{kind}s") if fields["Name"] == device), {})
            if kind == "source":
                self.node = state.get("object.id", "")
            if state.get("Mute") == "yes":
                sentence = f"{label} is muted in the sound settings: unmute it there"
                yield f"set-{kind}-mute", device, "0", sentence
            percent = re.search(r"(\d+)%", state.get("Volume", ""))
            if percent and percent[0] != FULL:
                sentence = f"{label} is at {percent[0]} in the sound settings"
                yield f"set-{kind}-volume", device, FULL, sentence

    def _load(self, module: str, kind: str, name: str, *arguments: str) -> list[str]:
        owner = _identity(os.getpid())
        properties = f'device.description="{self._labels[name]}" qse.owner="{owner}"'
        names = [f"{kind}_name={name}", f"{kind}_properties='{properties}'"]
        return ["load-module", module, *arguments, *names]

    def _modules(self) -> list[tuple[str, str]]:
        """Return index and arguments of the virtual microphone's modules."""
        names = (f"sink_name={self.sink} ", f"source_name={self.source} ")
        found = []
        for line in pactl("list", "short", "modules").splitlines():
            row = line.split("\t")
            if len(row) > 2 and any(name in f"{row[2]} " for name in names):
                found.append((row[0], row[2]))
        return found


@contextmanager
def virtual_microphone(name: str = "") -> Iterator[tuple[VirtualMicrophone, PulseSystem]]:
    """Create the virtual microphone, yield it and the sound system to play into it; remove it at
    the end.

    What a crashed process has left is replaced. When a session looks for its devices again, the
    virtual microphone is created again if the server has lost it. Raises NoSound if there is no
    server, UsageError if another process has a virtual microphone of this name.
    """
    microphone = VirtualMicrophone(name)
    owner = microphone.owner()
    if owner:
        cure = "end that qse live first, or take another name"
        raise UsageError(f"process {owner} already has a virtual microphone: {cure}")
    microphone.replace()
    try:
        yield microphone, PulseSystem(hidden=is_own, refresh=microphone.create)
    finally:
        with suppress(PulseError):  # the server has gone, and the virtual microphone with it
            microphone.close()


def remove_abandoned(name: str = "") -> int:
    """Remove what a crashed process left; return the number of modules that were removed.

    Raises UsageError if the process that made it is still running.
    """
    microphone = VirtualMicrophone(name)
    owner = microphone.owner()
    if owner:
        cure = "end that qse live, which removes it"
        raise UsageError(f"process {owner} is using the virtual microphone: {cure}")
    return microphone.remove()


def _restore_defaults(before: dict[str, str], kinds: Iterable[str] = KINDS) -> None:
    """Set the server's default devices as they were, where it made a virtual one the default."""
    after = defaults()
    for kind in kinds:
        former = before.get(kind)
        if former and not is_own(former) and is_own(after.get(kind, "")):
            pactl(f"set-default-{kind}", former)


def _identity(pid: int) -> str | None:
    """Return "<id>.<start time>" of a process, which no later process shares; None if there is
    none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return f"{pid}.{stat.rpartition(')')[2].split()[19]}"

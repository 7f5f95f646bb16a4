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

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from time import monotonic

from .listeners import Listeners
from .own_modules import SINK, SOURCE, OwnModules, is_own, suffixes
from .pulse_server import PulseError, defaults, listed, pactl
from .pulse_system import PulseSystem

RATE = 48000  # Hz, that of meeting programs
SETTLE = 3.0  # seconds after the first check in which the server may restore an earlier state
FULL = "100%"  # volume
KINDS = ("sink", "source")  # of default devices


class VirtualMicrophone:
    """A sink and a source of the sound server.

    sink, source: their names in the server. label: the name that programs show.
    output: name of the sink in a list of devices. listeners: the programs that record from it.
    node: PipeWire's id of the source, as `check` found it; empty on another server.
    """

    is_speaker = False
    streams = "source-output"  # the kind of the streams of `listeners`
    idle = "nobody listens to the virtual microphone, so the microphone is closed"

    def __init__(self, name: str = ""):
        """`name`: distinguishes it from others, letters, digits and hyphens; UsageError for
        another."""
        ending, suffix = suffixes(name)
        self.sink = SINK + ending
        self.source = SOURCE + ending
        self.label = f"qse microphone{suffix}"
        self._labels = {self.sink: f"qse output{suffix}", self.source: self.label}
        self.modules = OwnModules("microphone", self._labels)
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
            if not self._closed and not self.modules.are_complete:
                self.modules.remove()
                self._create()

    def _create(self) -> None:
        self._former = defaults()
        form = [f"rate={RATE}", "channels=1", "channel_map=mono"]
        self.modules.load("module-null-sink", "sink", self.sink, *form)
        master = f"master={self.sink}.monitor"
        self.modules.load("module-remap-source", "source", self.source, master)
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
        self.modules.remove()

    def close(self) -> None:
        """Remove the devices; nothing makes them again."""
        with self._changing:
            self._closed = True
            self.modules.remove()

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


@contextmanager
def virtual_microphone(name: str = "") -> Iterator[tuple[VirtualMicrophone, PulseSystem]]:
    """Create the virtual microphone, yield it and the sound system to play into it; remove it at
    the end.

    What a crashed process has left is replaced. When a session looks for its devices again, the
    virtual microphone is created again if the server has lost it. Raises NoSound if there is no
    server, UsageError if another process has a virtual microphone of this name.
    """
    microphone = VirtualMicrophone(name)
    microphone.modules.claim()
    microphone.replace()
    try:
        yield microphone, PulseSystem(hidden=is_own, refresh=microphone.create)
    finally:
        with suppress(PulseError):  # the server has gone, and the virtual microphone with it
            microphone.close()


def _restore_defaults(before: dict[str, str], kinds: Iterable[str] = KINDS) -> None:
    """Set the server's default devices as they were, where it made a virtual one the default."""
    after = defaults()
    for kind in kinds:
        former = before.get(kind)
        if former and not is_own(former) and is_own(after.get(kind, "")):
            pactl(f"set-default-{kind}", former)

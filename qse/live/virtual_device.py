"""A virtual microphone that other programs can choose: a sink to play into, and a source that gives what was played.

    qse live -> sink "qse_output" -> its monitor -> source "qse_microphone" -> a meeting program

Both are modules of the sound server (PulseAudio, or PipeWire's server for it). Their arguments name the process that
made them, so that those of a process that crashed are recognised and removed.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import UsageError
from .pulse_server import PulseError, defaults, pactl
from .pulse_system import PulseSystem

SINK, SOURCE = "qse_output", "qse_microphone"
OWN = (SOURCE, f"{SINK}.monitor")  # sources that must never be the input
RATE = 48000  # Hz, that of meeting programs
LABELS = {SINK: "qse output", SOURCE: "qse microphone"}
OUTPUT = f"{LABELS[SINK]} ({SINK})"  # the sink's name in a list of devices


@contextmanager
def virtual_microphone() -> Iterator[PulseSystem]:
    """Create the virtual microphone, yield the sound system to play into it, and remove it at the end.

    What a crashed process has left is replaced. When a session looks for its devices again, the virtual microphone is
    created again if the server has lost it. Raises NoSound if there is no server, UsageError if another process has a
    virtual microphone.
    """
    if owner := _living_owner():
        raise UsageError(
            f"process {owner} already has a virtual microphone: end that qse live first"
        )
    remove()
    try:
        yield PulseSystem(hidden=OWN, refresh=_ensure)
    finally:
        with suppress(PulseError):  # the server has gone, and the virtual microphone with it
            remove()


def remove() -> int:
    """Remove the virtual microphone of whatever process; return the number of modules that were removed."""
    modules = _modules()
    for index, _ in sorted(
        modules, key=lambda module: SOURCE not in module[1]
    ):  # the source rests on the sink
        with suppress(PulseError):  # gone already
            pactl("unload-module", index)
    return len(modules)


def remove_abandoned() -> int:
    """As `remove`, but raise UsageError if the process that made it is still running."""
    if owner := _living_owner():
        raise UsageError(
            f"process {owner} is using the virtual microphone: end that qse live, which removes it"
        )
    return remove()


def _ensure() -> None:
    """Create both modules unless they exist; keep the server's default devices as they are."""
    if len(_modules()) == 2:
        return
    remove()
    before = defaults()
    pactl(
        *_load("module-null-sink", "sink", SINK, f"rate={RATE}", "channels=1", "channel_map=mono")
    )
    pactl(*_load("module-remap-source", "source", SOURCE, f"master={SINK}.monitor"))
    after = defaults()
    for kind, own in (("sink", (SINK,)), ("source", OWN)):
        former = before.get(kind)
        if former and former not in own and after.get(kind) in own:
            pactl(f"set-default-{kind}", former)


def _load(module: str, kind: str, name: str, *arguments: str) -> list[str]:
    properties = f'device.description="{LABELS[name]}" qse.owner="{_identity(os.getpid())}"'
    return [
        "load-module",
        module,
        *arguments,
        f"{kind}_name={name}",
        f"{kind}_properties='{properties}'",
    ]


def _modules() -> list[tuple[str, str]]:
    """Return index and arguments of the virtual microphone's modules."""
    rows = [line.split("\t") for line in pactl("list", "short", "modules").splitlines()]
    names = (f"sink_name={SINK} ", f"source_name={SOURCE} ")
    return [
        (row[0], row[2])
        for row in rows
        if len(row) > 2 and any(name in f"{row[2]} " for name in names)
    ]


def _living_owner() -> int | None:
    """Return the id of a process other than this one that made the virtual microphone and still runs."""
    for _, arguments in _modules():
        owner = re.search(r"qse\.owner=\W*((\d+)\.\d+)", arguments)
        if owner and _identity(int(owner[2])) == owner[1] and int(owner[2]) != os.getpid():
            return int(owner[2])
    return None


def _identity(pid: int) -> str | None:
    """Return "<id>.<start time>" of a process, which no later process shares; None if there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return f"{pid}.{stat.rpartition(')')[2].split()[19]}"

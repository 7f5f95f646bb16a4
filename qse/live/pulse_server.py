"""Ask a PulseAudio server, or PipeWire's server for its clients, by the program pactl."""

import os
import re
import subprocess

from .devices import NoSound

PATIENCE = 30.0  # seconds for an answer; a server that is starved by other programs may need many


class PulseError(NoSound):
    """The sound server does not answer, or refuses."""


class NoServer(PulseError):
    """There is no sound server, or the programs to reach it are not installed."""


def pactl(*arguments: str) -> str:
    """Run pactl and return what it prints, in English. Raises PulseError, NoServer."""
    try:
        done = subprocess.run(
            ["pactl", *arguments],
            capture_output=True,
            encoding="utf-8",
            errors="replace",  # a name may hold anything
            env=in_english(),
            timeout=PATIENCE,
        )
    except FileNotFoundError as error:
        debian = "`apt install pulseaudio-utils` (Debian, Ubuntu)"
        fedora = "`dnf install pulseaudio-utils` (Fedora)"
        raise NoServer(f"the program pactl is missing: {debian} or {fedora}") from error
    except subprocess.TimeoutExpired as error:
        raise PulseError("the sound server does not answer: restart it") from error
    if done.returncode:
        reason = done.stderr.strip().partition("\n")[0] or "no reason given"
        absent = NoServer if reason.startswith("Connection failure") else PulseError
        raise absent(
            f"pactl {arguments[0]}: {reason}; is PulseAudio or PipeWire running (pactl info)?"
        )
    return done.stdout


def defaults() -> dict[str, str]:
    """Return the names of the default "source" and "sink", as far as there are any, and "cookie",
    which tells a server from the one before a restart.

    PULSE_SOURCE and PULSE_SINK go before the server's defaults, as in all its clients.
    """
    found = re.findall(r"^(?:Default )?(Source|Sink|Cookie): (\S+)$", pactl("info"), re.MULTILINE)
    return {kind.lower(): os.environ.get(f"PULSE_{kind.upper()}") or name for kind, name in found}


def listed(kind: str) -> list[dict[str, str]]:
    """Return the fields of all objects of a kind ("sources", "sinks", "source-outputs"), and
    `index`, its number."""
    found = []
    for part in re.split(r"^[A-Z][\w ]* #", pactl("list", kind), flags=re.M)[1:]:
        fields = dict(re.findall(r"^\t+([\w. ]+?)(?:: | = )\"?(.*?)\"?$", part, re.M))
        found.append({"index": part.partition("\n")[0].strip(), **fields})
    return found


def names(kind: str) -> dict[str, str]:
    """Return the names of all objects of a kind ("sources", "sinks") by their index.

    pactl prints any bytes, line ends as well, as the state of a device of PipeWire that is being
    made.
    """
    return dict(re.findall(r"^(\d+)\t([^\t\n]+)", pactl("list", "short", kind), re.MULTILINE))


def in_english() -> dict[str, str]:
    """Return the environment for programs whose messages are read."""
    return {**os.environ, "LC_ALL": "C"}

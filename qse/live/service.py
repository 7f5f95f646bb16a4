"""Run `qse live` in the background as a systemd service of the user: write the unit, enable and
start it."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ..audio.atomic_write import write_text
from ..errors import QseError, UsageError
from ..printable import printable
from ..user_folders import user_folder

NAME = "qse-live.service"
EVERY = "600"  # seconds between two lines without a change: a journal is no place for one a second
UNIT = """\
[Unit]
Description=Remove noise from the microphone (qse live)
After=pipewire-pulse.service pulseaudio.service
StartLimitIntervalSec=0

[Service]
ExecStart={command}
Restart=on-failure
RestartSec=5
Environment=PYTHONUNBUFFERED=1{environment}

[Install]
WantedBy=default.target
"""


def unit_path() -> Path:
    """Return where the unit of the service lies."""
    return user_folder("XDG_CONFIG_HOME", ".config") / "systemd" / "user" / NAME


def unit_text(options: Sequence[str]) -> str:
    """Return the unit that runs `qse live --plain` with `options`.

    Raises UsageError for a control character in one of them, or in QSE_MODELS: a newline would
    begin another line of the unit.
    """
    command = [*_program(), "live", "--plain", "--every", EVERY, *options]
    models = os.environ.get("QSE_MODELS")
    for word in (*command, models or ""):
        if word != printable(word):
            raise UsageError(f"{word!r} holds a control character: leave it out")
    environment = f"\nEnvironment={_quoted(f'QSE_MODELS={models}')}" if models else ""
    words = [_quoted(word).replace("$", "$$") for word in command]  # else a variable
    return UNIT.format(command=" ".join(words), environment=environment)


def _program() -> list[str]:
    """Return the command of qse: of a frozen program, that itself; else one of Python that imports
    nothing from the working folder, which is the user's home."""
    if getattr(sys, "frozen", False):
        return [sys.executable]
    return [sys.executable, "-P", "-c", "from qse_cli.main import main; main()"]


def install(options: Sequence[str]) -> Path:
    """Write the unit, enable it for every login, and start it, again if it runs already. Return its
    path.

    Raises QseError where there is no systemd or it refuses; then the unit is as it was.
    """
    systemctl("--version")  # before anything is written
    path = unit_path()
    before = path.read_text(encoding="utf-8") if path.exists() else None
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, unit_text(options), source=None)
    try:
        systemctl("--user", "daemon-reload")
        systemctl("--user", "enable", NAME)
        systemctl("--user", "restart", NAME)
    except QseError:
        if before is None:
            systemctl("--user", "disable", NAME, check=False)
            path.unlink(missing_ok=True)
        else:
            write_text(path, before, source=None)
        raise
    return path


def uninstall() -> Path:
    """Stop and disable the service and remove its unit. Raises UsageError if it is not
    installed."""
    path = unit_path()
    if not path.exists():
        raise UsageError(f"{path} does not exist: the service is not installed")
    systemctl("--user", "disable", "--now", NAME)
    path.unlink()
    systemctl("--user", "daemon-reload")
    return path


def running_process() -> int:
    """Return the id of the service's process. Raises UsageError if it does not run."""
    text = systemctl("--user", "show", "--property=MainPID", "--value", NAME)
    pid = int(text.strip() or 0)
    if not pid:
        raise UsageError("the service does not run: qse service install starts it")
    return pid


def status() -> str:
    """Return what systemd says of the service and its last lines of output."""
    if not unit_path().exists():
        return f"not installed: {unit_path()} does not exist\n"
    return systemctl("--user", "--no-pager", "status", NAME, check=False)


def systemctl(*arguments: str, check: bool = True) -> str:
    """Run systemctl and return what it prints. Raises QseError if it is missing, or fails and
    `check` is set."""
    try:
        done = subprocess.run(["systemctl", *arguments], capture_output=True, text=True)
    except OSError as error:
        raise QseError(
            "systemctl is missing: qse service needs systemd; elsewhere start qse live at login"
        ) from error
    if check and done.returncode:
        reason = done.stderr.strip().partition("\n")[0] or f"status {done.returncode}"
        raise QseError(f"systemctl {' '.join(arguments)}: {reason}")
    return done.stdout or done.stderr


def _quoted(word: str) -> str:
    """Return a word of a unit as systemd reads it: quoted, without specifiers."""
    word = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{word}"'

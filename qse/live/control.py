"""Change a running session from another process of the same user, through a socket in the user's
runtime folder.

A request is one line of JSON with any of `strength` (dB, or null for no limit), `muted` and
`bypass`; the answer is one line with all three as they are then, or with `error`.
"""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any

from ..errors import QseError, UsageError
from .session import LiveSession

PATIENCE = 5.0  # seconds for a request, and for its answer
LONGEST = 1 << 12  # bytes of either


def socket_path(pid: int) -> Path | None:
    """Return where the session of a process listens; None where there is no runtime folder."""
    folder = os.environ.get("XDG_RUNTIME_DIR")
    return Path(folder) / f"qse-live-{pid}.sock" if folder else None


@contextmanager
def controlled(session: LiveSession) -> Iterator[None]:
    """Obey requests from other processes meanwhile, where the system has a runtime folder."""
    path = socket_path(os.getpid())
    server = _listening(path) if path and hasattr(socket, "AF_UNIX") else None
    if server is None or path is None:
        yield
        return
    Thread(target=_serve, args=(server, session), name="qse control", daemon=True).start()
    try:
        yield
    finally:
        server.close()
        path.unlink(missing_ok=True)


def change(pid: int, changes: dict[str, Any]) -> dict[str, Any]:
    """Change the session of a process, and return its settings afterwards. Raises QseError if it
    does not answer, UsageError for a value that it refuses."""
    path = socket_path(pid)
    if path is None:
        raise UsageError("XDG_RUNTIME_DIR is not set: run this in the user's session")
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE)
            client.connect(str(path))
            client.sendall(json.dumps(changes).encode() + b"\n")
            answer = json.loads(client.makefile("rb").readline(LONGEST))
    except (OSError, ValueError) as error:
        cure = "if it has just started, try again; else qse service install starts it anew"
        raise QseError(f"process {pid} does not answer at {path} ({error}): {cure}") from error
    if "error" in answer:
        raise UsageError(str(answer["error"]))
    return dict(answer)


def _listening(path: Path) -> socket.socket | None:
    """Return a socket that only the user can connect to; None where it cannot be made."""
    with suppress(OSError):
        path.unlink(missing_ok=True)  # of a killed process with this id
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(path))
        path.chmod(0o600)
        server.listen()
        return server
    return None


def _serve(server: socket.socket, session: LiveSession) -> None:
    with suppress(OSError):  # the socket was closed
        while True:
            client, _ = server.accept()
            with client, suppress(OSError):
                client.settimeout(PATIENCE)
                line = client.makefile("rb").readline(LONGEST)
                client.sendall(json.dumps(_obey(session, line)).encode() + b"\n")


def _obey(session: LiveSession, line: bytes) -> dict[str, Any]:
    """Make the changes of a request, all or none, and return the answer."""
    try:
        wanted = json.loads(line)
        strength = wanted.get("strength", session.strength)
        switches = {key: wanted[key] for key in ("muted", "bypass") if key in wanted}
    except (ValueError, AttributeError, RecursionError):
        return {"error": "the request is no JSON object"}
    is_number = isinstance(strength, int | float) and not isinstance(strength, bool)
    if strength is not None and not (is_number and strength >= 0):
        return {"error": f"strength {strength!r} is no attenuation limit: 0 dB or more"}
    if not all(isinstance(value, bool) for value in switches.values()):
        return {"error": "muted and bypass are true or false"}
    session.strength = strength
    for name, value in switches.items():
        setattr(session, name, value)
    return {"strength": session.strength, "muted": session.muted, "bypass": session.bypass}

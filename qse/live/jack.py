"""Let JACK, which PortAudio asks for devices on Linux, touch no file of another user.

Its library keeps a data base and looks for a server in a folder that is open to all, under names
that contain no more than the number of the user.
"""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from ..audio.private_folder import is_exchangeable
from .devices import NoSound

PLACE = Path("/dev/shm")
SERVER = "JACK_DEFAULT_SERVER"  # environment variable: the name of the server


def keep_from_others() -> None:
    """Make the folder of the data base for this user alone, and name a server that nobody has where
    this user has none: another one could stand in for it.

    Raises NoSound where others could exchange the data base.
    """
    user = os.getuid()
    data = PLACE / f"jack_db-{user}"
    with suppress(OSError):  # it is there, or none can be made
        data.mkdir(mode=0o700)
    if is_exchangeable(data / "file"):
        raise NoSound(
            f"{data}: another user could let JACK, which PortAudio asks for devices, write into"
            " files elsewhere; have this folder removed, or use a sound server"
        )
    socket = PLACE / f"jack_{os.environ.get(SERVER, 'default')}_{user}_0"
    if not os.path.lexists(socket) or is_exchangeable(socket):
        os.environ[SERVER] = f"none-{secrets.token_hex(8)}"

"""Give a new file permissions that are no wider than those of its source."""

import os
import stat
from contextlib import suppress
from pathlib import Path

MASK = os.umask(0o077)  # read once: there is no way to read it without setting it
os.umask(MASK)
ACL = "system.posix_acl_access"
OWNER_ALONE = Path(os.devnull)  # in place of a source: sound of a microphone


def set_mode(descriptor: int, replaced: os.stat_result | None, source: Path | None) -> None:
    """Give the temporary file the permissions of a new one, or of the own file that it replaces,
    without those that others do not have on `source`, which may be OWNER_ALONE."""
    if not hasattr(os, "fchmod"):
        return
    own = os.fstat(descriptor)
    mode = 0o666 & ~MASK
    if replaced and stat.S_ISREG(replaced.st_mode):
        before = stat.S_IMODE(replaced.st_mode) & 0o777
        mode = before if replaced.st_uid == own.st_uid else mode & before
    with suppress(OSError):  # the file system has no permissions
        os.fchmod(descriptor, mode & (_allowed(source, own.st_gid) if source else 0o777))


def _allowed(source: Path, group: int) -> int:
    """Return the permissions that a copy of `source` may have, which belongs to `group`."""
    if source == OWNER_ALONE:
        return 0o600
    state = source.stat()
    mode = state.st_mode & 0o777
    others = mode & 0o007
    listed = hasattr(os, "listxattr") and ACL in os.listxattr(source)
    if state.st_gid != group or listed:  # the bits of the group are those of other people
        mode = mode & 0o700 | others << 3 | others
    return mode | 0o600

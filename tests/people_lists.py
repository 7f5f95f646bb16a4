"""Lists of people (ACL) of files and folders, as Linux keeps them."""

import os
import struct
from pathlib import Path

import pytest

NOBODY = 0xFFFFFFFF  # the number of a line about all of its kind


def acl(path: Path, *lines: tuple[int, int, int]) -> None:
    """Give a file a list of people: whom a line is about, permissions, and number."""
    held = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *line) for line in lines)
    try:
        os.setxattr(path, "system.posix_acl_access", held)
    except (OSError, AttributeError):
        pytest.skip("the file system has no such lists")

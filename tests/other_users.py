"""Files that another user of the machine has made."""

import os
from pathlib import Path

import pytest

needs_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root for chown"
)


def foreign(link: Path, target: Path) -> None:
    """Make a link of another user."""
    if link.exists():
        os.unlink(link)
    link.symlink_to(target)
    os.chown(link, 12345, 12345, follow_symlinks=False)

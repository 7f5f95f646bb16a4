"""Tell PyInstaller what a frozen program that uses qse needs.

PyInstaller finds this package by its entry point.
"""

from pathlib import Path


def hook_folders() -> list[str]:
    """Return the folder with the hooks of PyInstaller."""
    return [str(Path(__file__).parent)]

"""Files in Git repositories, and the tables that list them."""

import csv
import os
import subprocess
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path

from qse.audio.folder_path import open_source

Row = dict[str, str]
SEPARATORS = set("\t\n\r")  # in a name, they would begin other cells and lines


def read_table(path: Path) -> list[Row]:
    """Return the rows of a tab-separated file as dictionaries."""
    with open(path, encoding="utf-8", opener=open_source) as file:
        lines = file.read().split("\n")
    return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def open_repository(repository: str, folder: Path) -> tuple[list[str], dict[str, str]]:
    """Return the git command for a repository, and {path: object id} of its files, without links
    and names that a line of a table cannot hold.

    repository: owner/name, cloned if it is not in `folder`. Raises CalledProcessError where it
    cannot be cloned, and for a clone of another user, whose configuration may run programs.
    """
    clone = folder / repository.replace("/", "+")
    if not clone.exists():
        source = ["--bare", "--depth", "1", f"https://github.com/{repository}", str(clone)]
        subprocess.run(["git", "clone", "--quiet", *source], check=True)
    git = ["git", "-C", str(clone)]  # with --git-dir, git does not ask whose it is
    listing = subprocess.run(
        [*git, "ls-tree", "-r", "-z", "HEAD"],
        check=True,
        stdout=subprocess.PIPE,
        env={**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.resolve())},
    ).stdout
    files = {}
    for line in listing.decode(errors="replace").split("\0"):
        meta, _, path = line.partition("\t")
        if meta.startswith("100") and not SEPARATORS & set(path):
            files[path] = meta.split()[2]
    return git, files


def clients(git: list[str], files: dict[str, str]) -> dict[str, str]:
    """Return {clip: client_id} of the tables (.tsv) of Common Voice among files of a repository."""
    tables = [name for path, name in files.items() if path.endswith(".tsv")]
    found = {}
    for content in contents(git, tables):
        lines = (content or b"").decode(errors="replace").split("\n")
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row.get("client_id") and row.get("path"):
                found[row["path"]] = row["client_id"]
    return found


def contents(git: list[str], names: Collection[str]) -> Iterator[bytes | None]:
    """Yield the content of each object of a repository, None where it is missing."""
    with tempfile.TemporaryFile() as wanted:
        wanted.writelines(f"{name}\n".encode() for name in names)
        wanted.seek(0)
        with subprocess.Popen(
            [*git, "cat-file", "--batch"], stdin=wanted, stdout=subprocess.PIPE
        ) as reader:
            assert reader.stdout
            for _ in names:
                size = reader.stdout.readline().split()[2:]
                yield reader.stdout.read(int(size[0]) + 1)[:-1] if size else None

"""Rows of a table of sources: which files they ask for, and how these are called."""

import fnmatch
import hashlib
import re
from pathlib import Path

from audio_prints import AUDIO
from repository_files import Row

SPOKEN = re.compile(  # words of a path that tell of speech
    "(voice|speech|speak|announc|dialog|vocal|taunt|chatter|narrat|spoken|talk|lyric|acknowledg"
    "|count(ing|down)).*"
    "|vox|says?|said|words?|phrases?|sing(s|ing|er)?|sung|rap|ack|scanner"
)


def wanted(path: str, row: Row) -> bool:
    """Tell whether the row of the table asks for this path."""
    lower = path.lower()
    exclude = row["exclude"].lower().split()
    if not lower.endswith(AUDIO) or not matches(lower, row["paths"].lower().split()):
        return False
    if matches(lower, exclude):
        return False

    begins = tuple(word for word in exclude if not set(word) & set("*?/"))
    stem = path.rsplit(".", 1)[0]
    for word in re.findall("[a-z]+", re.sub("([a-z])([A-Z])", r"\1 \2", stem).lower()):
        spoken = row["kind"] == "noise" and SPOKEN.fullmatch(word)
        if word.startswith(begins) or spoken:
            return False
    return True


def matches(path: str, globs: list[str]) -> bool:
    return any(fnmatch.fnmatchcase(path, glob) for glob in globs)


def name_of(path: str, row: Row, client: str = "") -> tuple[str, str]:
    """Return the group and the id of a file. client: who speaks, where a table names them."""
    group = row["group"]
    part = re.fullmatch("(.*?)(folder|name|client):(.*)", group)
    if part and part[2] == "client":
        group = f"{part[1]}{client[: int(part[3])]}" if client else f"various-{part[1]}"
    elif part:
        number = int(part[3])
        named = path.split("/")[number - 1] if part[2] == "folder" else Path(path).name[:number]
        group = part[1] + named
    digest = hashlib.sha1(f"{row['repository']}/{path}".encode()).hexdigest()[:8]
    return plain(group), f"{plain(Path(path).stem[:40]) or 'x'}-{digest}"


def plain(text: str) -> str:
    """Return a text in lower case with hyphens for all that is no letter or digit."""
    return re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")

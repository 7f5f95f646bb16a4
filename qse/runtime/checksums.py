"""Write and check `SHA256SUMS` in a model's folder: lines "<sha256>  <file name>", as `sha256sum`
writes them."""

import hashlib
from pathlib import Path

from ..audio.atomic_write import write_text
from ..errors import QseError
from ..model_folder import CHECKSUMS, GRAPHS
from .graph_check import LARGEST

LONGEST_SUMS = 1 << 16  # characters of a file of checksums that are read


def seal(folder: str | Path) -> None:
    """Write `SHA256SUMS` for the graphs in a model's folder."""
    lines = []
    for name in GRAPHS:
        path = Path(folder) / name
        if path.is_file():
            lines.append(f"{sha256_of(path)}  {name}\n")
    write_text(Path(folder) / CHECKSUMS, "".join(lines), source=None)


def verify(path: Path) -> None:
    """Raise QseError for a graph that does not agree with the checksums beside it."""
    sums = path.parent / CHECKSUMS
    if not sums.is_file():
        return
    try:
        if path.stat().st_size > LARGEST:  # which would take long to read
            raise QseError(
                f"{path} is not a model that qse runs: it is larger than {LARGEST >> 20} MiB"
            )
        wanted = _listed(sums, path.name)
        damaged = wanted != {sha256_of(path)}
    except OSError as error:
        raise QseError(f"{error.filename} cannot be read: {error.strerror}") from error
    if not wanted:
        cure = f"install qse again, or delete {CHECKSUMS}"
        raise QseError(f"{path} is not listed in {CHECKSUMS} beside it: {cure}")
    if damaged:
        reason = f"its checksum is not the one in {CHECKSUMS}"
        raise QseError(f"{path} is damaged ({reason}): install qse again or copy it again")


def _listed(sums: Path, name: str) -> set[str]:
    """Return the checksums of the file `name` in a file as `sha256sum` writes it."""
    with sums.open(encoding="utf-8", errors="replace") as file:
        text = file.read(LONGEST_SUMS)
    found = set()
    for line in text.splitlines():
        checksum, *rest = line.split() or [""]
        if rest in ([name], [f"*{name}"]):  # the star marks a file read as binary
            found.add(checksum.lower())
    return found


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, as hexadecimal digits. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

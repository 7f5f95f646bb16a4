"""Copy the chunks that are not audio from a WAV, AIFF or CAF file to its enhanced version, and
markers from one of these formats to another.

Within a format they are copied byte by byte; the coding history of Broadcast Wave gets a line more.
"""

from collections.abc import Iterable
from typing import IO

from .chunks import Chunk, Container, Dialect, read_container, write_size
from .coding_history import with_history
from .copied import Copied
from .file_edit import replace_bytes
from .formats import MOST_METADATA
from .id3 import without_loudness_frames
from .loudness import without_bext_loudness, without_loudness_xml
from .markers import Markers, marker_chunks, markers_of
from .wave_format import is_misread

STALE = {
    b"levl": "levl (peak envelope)",
    b"MD5 ": "MD5",
    b"peak": "peak",
    b"ovvw": "ovvw (overview)",
}
PLAIN = ("PCM_U8", "PCM_S8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE", "ULAW", "ALAW")


def copy_chunks(
    read: Container,
    written: Container,
    same_coding: bool,
    samples: int,
    leave: Iterable[bytes] = (),
) -> Copied:
    """Copy the metadata chunks of `read` to `written`, a file of the same family without metadata.

    same_coding: whether the samples are coded alike, so that the format chunk holds for both; it
    has the channel mask. samples: samples per channel, for files whose coding does not say. leave:
    identifiers of chunks that are not copied. Chunks keep their places before or after the samples
    where libsndfile can read that. A chunk that the end of the file cuts is lost.

    Raises OSError, and TooLong for a WAV or AIFF file of more than 4 GiB.
    """
    sound = written.sound
    if read.dialect.name != written.dialect.name or sound is None:
        return Copied(lost=["all chunks"])
    copied = Copied()
    before, after = _bodies(read, written, copied, leave)
    start = sound.at - written.dialect.head
    with written.path.open("r+b") as file:
        _append(file, written, after)
        replace_bytes(file, start, start, before)
        if same_coding:
            _replace_format(file, read, written)
        _set_count(file, written, samples)
        write_size(file, written)
    return copied


def add_markers(read: Container, written: Container) -> Markers:
    """Give `written`, a file of another family, the markers of `read`; return those that it has
    now.

    Raises OSError, and TooLong for a WAV or AIFF file of more than 4 GiB.
    """
    markers = markers_of(read)
    dialect = written.dialect
    chunks = marker_chunks(dialect.name, markers.found) if markers.found else []
    if not chunks or written.sound is None:
        return Markers([], ())
    data = b"".join(dialect.write(name, body) for name, body in chunks)
    with written.path.open("r+b") as file:
        if dialect.is_long or dialect.ends_with_samples:
            start = written.sound.at - dialect.head
            replace_bytes(file, start, start, data)
        else:
            _append(file, written, data)
        write_size(file, written)
    return markers


def chunk_names(container: Container) -> list[str]:
    """Return names for the metadata chunks of a file, each once."""
    names: dict[str, None] = {}
    for chunk in container.chunks:
        if chunk.name not in container.dialect.audio:
            names[_title(container, chunk)] = None
    names.pop("", None)
    return list(names)


def _title(container: Container, chunk: Chunk) -> str:
    name = chunk.name.decode("latin-1").strip()
    if chunk.name == b"LIST":
        name = container.body(chunk)[:4].decode("latin-1")
    return name if name.isprintable() else "an unknown chunk"


def _bodies(
    read: Container, written: Container, copied: Copied, leave: Iterable[bytes]
) -> tuple[bytes, bytes]:
    """Return the chunks before and after the samples as they will be written."""
    parts = [bytearray(), bytearray()]
    dialect = written.dialect
    data = read.sound
    for chunk in read.chunks:
        if chunk.name in (*leave, *read.dialect.audio):
            continue
        if chunk.name in STALE:
            copied.dropped.append(STALE[chunk.name])
            continue
        if chunk.missing or len(parts[0]) + len(parts[1]) + chunk.size > MOST_METADATA:
            copied.lost.append(_title(read, chunk))
            continue
        body = _still_true(chunk.name, read.body(chunk), read.dialect, copied)
        if chunk.name == b"bext":
            body = with_history(body, written)
        if len(chunk.name) > dialect.id_bytes:  # an identifier that only W64 has
            copied.lost.append("an unknown chunk")
            continue
        behind = data is not None and chunk.at > data.at
        parts[_is_behind(written, behind, len(body))] += dialect.write(chunk.name, body)
    return bytes(parts[0]), bytes(parts[1])


def _is_behind(written: Container, behind: bool, size: int) -> bool:
    """Return whether a chunk goes behind the samples: where libsndfile can read the file.

    In W64 it takes what follows the samples for samples; in RF64 it does not find samples behind
    an odd chunk.
    """
    if written.dialect.ends_with_samples:
        return False
    return behind or (written.dialect.is_long and size % 2 == 1)


def _still_true(name: bytes, body: bytes, dialect: Dialect, copied: Copied) -> bytes:
    """Return a body without the loudness that it states."""
    if name == b"bext":
        kept = without_bext_loudness(body, dialect.order)
    elif name in (b"iXML", b"axml"):
        kept = without_loudness_xml(body)
    elif name in (b"id3 ", b"ID3 "):
        kept, dropped = without_loudness_frames(body)
        copied.dropped += dropped
        return kept
    else:
        return body
    if kept != body:
        copied.dropped.append(f"loudness in {name.decode().strip()}")
    return kept


def _append(file: IO[bytes], written: Container, after: bytes) -> None:
    """Write chunks at the end of the file, behind the padding that the last chunk needs.

    The samples of W64, which are the last chunk, stay without: libsndfile takes padding for
    samples.
    """
    if written.dialect.ends_with_samples:
        return
    end = file.seek(0, 2)
    file.write(bytes(-end % written.dialect.padding) + after)


def _replace_format(file: IO[bytes], read: Container, written: Container) -> None:
    """Write the format chunk of the source, which comes before all that has moved in the target,
    but not one that libsndfile misreads in W64."""
    old = written.find(b"fmt ")
    new = read.find(b"fmt ")
    if old and new and not (written.dialect.ends_with_samples and is_misread(read.body(new))):
        head = written.dialect.head
        end = old.at + written.dialect.padded(old.size)
        replace_bytes(file, old.at - head, end, written.dialect.write(b"fmt ", read.body(new)))


def _set_count(file: IO[bytes], written: Container, samples: int) -> None:
    """Write the number of samples into the fact chunk: the blocks of ADPCM and GSM hold a few
    more."""
    file.flush()
    container = read_container(written.path, file, written.dialect)
    fact = container.find(b"fact")
    if fact and fact.size >= 4:
        file.seek(fact.at)
        file.write(samples.to_bytes(min(8, fact.size), container.dialect.order))

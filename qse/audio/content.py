"""Find what a file is by its first bytes, and whether its suffix says the same."""

from pathlib import Path

from .chunks import AIFF, CAF, W64, dialect_of
from .containers import OGG_SOUND
from .formats import suffix_of
from .id3 import tag_size

MAGIC = {  # how files begin -> kind
    b"fLaC": "FLAC",
    b".snd": "AU",
    b"Creative Voice File": "VOC",
    b"NIST_1A": "NIST",
    b"\x1a\x45\xdf\xa3": "Matroska",
    b"\x30\x26\xb2\x75\x8e\x66\xcf\x11": "WMA",
    b"#!AMR": "AMR",
    b"\x0b\x77": "AC-3",
}
# MP4 and QuickTime: behind the size of the first atom
ATOMS = (
    b"ftyp",
    b"moov",
    b"mdat",
    b"wide",
    b"pnot",
)
OF_FFMPEG = ("MP4", "Matroska", "WMA", "AMR", "AC-3", "AAC", "other Ogg")
SUFFIXES = {
    "WAV": ("wav", "wave", "rf64"),
    "RF64": ("rf64", "wav", "wave"),
    "W64": ("w64",),
    "AIFF": ("aiff", "aif", "aifc"),
    "CAF": ("caf",),
    "FLAC": ("flac",),
    "Ogg": ("ogg", "oga", "opus"),
    "other Ogg": ("ogg", "oga", "ogv", "spx"),
    "MP3": ("mp3",),
    "AU": ("au", "snd"),
    "VOC": ("voc",),
    "NIST": ("sph", "nist"),
    "MP4": ("m4a", "m4b", "mp4", "m4v", "mov", "3gp", "3ga"),
    "Matroska": ("mka", "mkv", "webm", "weba"),
    "WMA": ("wma", "wmv", "asf"),
    "AMR": ("amr",),
    "AC-3": ("ac3",),
    "AAC": ("aac",),
}
FAMILIES = {"RF64": "WAV", "W64": "WAV"}  # kinds whose metadata have the same form
KNOWN_SUFFIXES = frozenset().union(*SUFFIXES.values())


def kind_of(path: Path) -> str | None:
    """Return the kind of a file, one of SUFFIXES, by its content; None if it begins like none of
    them.

    Raises OSError.
    """
    if not path.is_file():  # a pipe would wait for its other end
        return None
    with path.open("rb") as file:
        head = file.read(64)
        tag = tag_size(head)
        if not tag:
            return _kind_by(head)
        file.seek(tag)
        return _kind_by(file.read(64)) or "MP3"


def _kind_by(head: bytes) -> str | None:
    """Return the kind of a file that begins with `head`, or goes on with it behind an ID3v2 tag."""
    if dialect := dialect_of(head):
        if dialect in (AIFF, CAF, W64):
            return {AIFF: "AIFF", CAF: "CAF", W64: "W64"}[dialect]
        return "RF64" if head[:4] in (b"RF64", b"BW64") else "WAV"
    if head[:4] == b"OggS":
        return "Ogg" if head[28:36].startswith(OGG_SOUND) else "other Ogg"
    if head[4:8] in ATOMS:
        return "MP4"
    for begin, kind in MAGIC.items():
        if head.startswith(begin):
            return kind
    if _is_adts(head):
        return "AAC"
    return "MP3" if _is_mp3(head) else None


def family_of(path: Path) -> str | None:
    """Return the kind of a file, the same for all kinds whose metadata have the same form."""
    kind = kind_of(path)
    return FAMILIES.get(kind or "", kind)


def needs_ffmpeg(path: Path) -> bool:
    """Return whether only ffmpeg reads files of this kind. Raises OSError."""
    return kind_of(path) in OF_FFMPEG


def wrong_suffix(path: Path) -> str | None:
    """Return the kind of a file whose suffix stands for another kind, None for other files."""
    kind = kind_of(path)
    suffix = suffix_of(path)
    if kind is None or suffix not in KNOWN_SUFFIXES or suffix in SUFFIXES[kind]:
        return None
    return kind


def _is_adts(head: bytes) -> bool:
    return len(head) > 6 and head[0] == 0xFF and head[1] & 0xF6 == 0xF0


def _is_mp3(head: bytes) -> bool:
    """Return whether a frame of layer III begins here."""
    return (
        len(head) > 3 and head[0] == 0xFF and head[1] & 0xE6 == 0xE2 and head[2] >> 4 not in (0, 15)
    )

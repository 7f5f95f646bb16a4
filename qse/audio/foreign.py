"""Files that only ffmpeg reads, and nothing writes."""

from .inspection import Inspection

MAGIC = {  # how files begin -> kind
    b"\x30\x26\xb2\x75\x8e\x66\xcf\x11": "WMA",
    b"#!AMR": "AMR",
    b"\x0b\x77": "AC-3",
    b"wvpk": "WavPack",
    b"TTA1": "TTA",
    b"MAC ": "APE",
    b"tBaK": "TAK",
    b"DSD ": "DSF",
    b"FLV\1": "FLV",
    b".SoX": "SoX",
    b"XoS.": "SoX",
    b"\x7f\xfe\x80\x01": "DTS",
    b"\x06\x0e\x2b\x34": "MXF",
    b"\0\0\1\xba": "MPEG-PS",
}


PACKET = 188  # bytes
SYNC = b"\x47"  # the first byte of a packet
MARKS = 3  # packets that are looked at


class Foreign(Inspection):
    """A file of such a kind."""

    needs_ffmpeg = True

    @classmethod
    def recognise(cls, head: bytes) -> str | None:
        for begin, kind in MAGIC.items():
            if head.startswith(begin):
                return kind
        if head[:4] == b"RIFF" and head[8:12] == b"AVI ":
            return "AVI"
        if _is_transport_stream(head):
            return "MPEG-TS"
        if len(head) > 3 and head[0] == 0xFF and head[1] & 0xE6 == 0xE4:  # a frame of layer II
            return "MP2" if head[2] >> 4 not in (0, 15) else None
        return None


def _is_transport_stream(head: bytes) -> bool:
    """Return whether packets begin at their usual distance, behind a time of four bytes in m2ts."""
    for first, size in ((0, PACKET), (4, PACKET + 4)):
        if head[first::size][:MARKS] == SYNC * MARKS:
            return True
    return False

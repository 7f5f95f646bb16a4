"""Files that only ffmpeg reads, and nothing writes."""

from .inspection import Inspection

MAGIC = {  # how files begin -> kind
    b"\x30\x26\xb2\x75\x8e\x66\xcf\x11": "WMA",
    b"#!AMR": "AMR",
    b"\x0b\x77": "AC-3",
}


class Foreign(Inspection):
    """A file of such a kind."""

    needs_ffmpeg = True

    @classmethod
    def recognise(cls, head: bytes) -> str | None:
        for begin, kind in MAGIC.items():
            if head.startswith(begin):
                return kind
        is_adts = len(head) > 6 and head[0] == 0xFF and head[1] & 0xF6 == 0xF0
        return "AAC" if is_adts else None

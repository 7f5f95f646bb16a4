"""GSM 06.10 files: frames alone, without a header."""

from .damage_text import named, note
from .inspection import Inspection

FRAME = 33  # bytes
SECONDS = 0.02  # of a frame
MAGIC = 0xD0  # the four bits with which a frame begins
MANY = 8  # frames that begin alike by no coincidence
PART = FRAME << 12  # bytes that are read at a time


class Gsm(Inspection):
    """A file of this kind, which its suffix tells, or the first bits of its frames."""

    family = "GSM"
    needs_ffmpeg = True
    has_times = False

    @classmethod
    def recognise(cls, head: bytes) -> str | None:
        firsts = head[::FRAME]
        is_known = len(firsts) >= MANY and all(first & 0xF0 == MAGIC for first in firsts)
        return cls.family if is_known else None

    def skipped_damage(self, sample_rate: int) -> str | None:
        places: list[str] = []
        count = 0
        with self.path.open("rb") as file:
            while part := file.read(PART):
                for first in part[::FRAME]:
                    if first & 0xF0 != MAGIC:
                        note(places, f"bytes are no frame at {count * SECONDS:.2f} s")
                    count += 1
        if self.state.st_size % FRAME:
            note(places, "its last frame is cut")
        return named(places)

"""Tell sizes in headers from what programs write there before the end is known."""

EDGES = (1 << 31, 1 << 32)  # bytes that a size of 32 bits, with or without a sign, does not reach
# bytes of samples by headers that sox (two), GStreamer, arecord, lame, ffmpeg write into a pipe
USUAL = (0x7F000000, 0x7FFFF000, 0x7FFF0000, 0x7FFFFF00, 0x7FFFFFFF, 0xFFFFFFFF)
NEAR = 1 << 12  # bytes by which other programs, and sizes that count the header, differ
LEAST_OPEN = 1 << 62  # or, in 64 bits, at least this


def is_open(size: int) -> bool:
    """Return whether a header states a size in bytes that may stand for an end that was not known,
    as that of a file written into a pipe."""
    return size >= LEAST_OPEN or any(abs(edge - size) <= NEAR for edge in (*EDGES, *USUAL))


def is_surely_open(size: int) -> bool:
    """Return whether the size of the samples is one that stands for nothing else."""
    return size >= LEAST_OPEN or size in USUAL

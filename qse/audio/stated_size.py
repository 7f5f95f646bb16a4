"""Tell sizes in headers from what programs write there before the end is known."""

EDGES = (1 << 31, 1 << 32)  # bytes; headers written into a pipe state about as many,
NEAR = 1 << 12  # by which these differ,
LEAST_OPEN = 1 << 62  # or, in 64 bits, at least this


def is_open(size: int) -> bool:
    """Return whether a header states a size in bytes that stands for an end that was not known, as
    that of a file written into a pipe."""
    return size >= LEAST_OPEN or any(abs(edge - size) <= NEAR for edge in EDGES)

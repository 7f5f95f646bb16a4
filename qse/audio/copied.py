"""Name what a copy of a file does not hold."""

from dataclasses import dataclass, field


@dataclass
class Copied:
    """The metadata that a copy of a file does not hold.

    lost, dropped: names; the latter of what no longer holds.
    """

    lost: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)

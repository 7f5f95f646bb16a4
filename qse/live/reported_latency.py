"""Tell PipeWire how late a virtual microphone is, so that programs that record it beside a picture
keep both together.

PipeWire from 1.4 adds the latency to that of each recording. 0.3.65 refuses it and suspends the
node and what records from it, so no earlier server is told; PulseAudio 16.1 has no latency for a
virtual source. There a user enters it in the recorder.
"""

import re
import subprocess

OLDEST = (1, 4)  # version of PipeWire that takes a latency
PATIENCE = 5.0  # seconds for an answer of pw-cli
TOLERATED = 0.005  # seconds by which the told latency may differ
JUMP = 0.05  # seconds of a change that is no fluctuation
ROUNDED = 1e6  # nanoseconds by which the server may round it
SMOOTH = 4  # values that are averaged: streams report their latency by fragments


class ReportedLatency:
    """The latency of one node of PipeWire, told again when it changes.

    is_known: whether the server has taken it.
    """

    def __init__(self) -> None:
        self.is_known = False
        self._node = ""
        self._mean = 0.0
        self._told: int | None = None  # nanoseconds
        self._is_checked = False  # whether the server has taken what was told first

    def tell(self, node: str, seconds: float) -> None:
        """Tell the latency of `node`, PipeWire's id; empty on another server. Call this every few
        seconds: whether it was taken shows at the next call. A server that does not take it is not
        asked again for this node."""
        if node != self._node:
            self._node = node
            self._told = None
            self._mean = seconds
            self._is_checked = bool(node) and _version() < OLDEST
            self.is_known = False
        if not node or (self._is_checked and not self.is_known):
            return
        try:
            self._tell(seconds)
        except (OSError, subprocess.SubprocessError):  # no such program, or the server is gone
            self._is_checked = True
            self.is_known = False

    def _tell(self, seconds: float) -> None:
        if self._told is not None and not self._is_checked:
            self._is_checked = True
            values = re.findall(r"Long (\d+)", _pw_cli("enum-params", self._node, "Latency"))
            self.is_known = any(abs(int(value) - self._told) < ROUNDED for value in values)
            if not self.is_known:
                return

        change = seconds - self._mean
        self._mean = seconds if abs(change) > JUMP else self._mean + change / SMOOTH
        value = round(1e9 * self._mean)
        if self._told is None or abs(value - self._told) > 1e9 * TOLERATED:
            self._told = value
            _pw_cli("set-param", self._node, "ProcessLatency", f"{{ ns: {value} }}")


def _version() -> tuple[int, ...]:
    """Return the version of PipeWire, (0,) if there is none."""
    try:
        found = re.search(r'^\s*version: "(\d+)\.(\d+)', _pw_cli("info", "0"), re.MULTILINE)
    except (OSError, subprocess.SubprocessError):
        found = None
    return (int(found[1]), int(found[2])) if found else (0,)


def _pw_cli(*arguments: str) -> str:
    line = ["pw-cli", *arguments]
    done = subprocess.run(
        line, capture_output=True, encoding="utf-8", errors="replace", timeout=PATIENCE, check=True
    )
    return done.stdout

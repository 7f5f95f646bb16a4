"""The sources and sinks of a PulseAudio server, or of PipeWire's server for its clients.

PulseSystem offers the functions of the module sounddevice that live sound uses, so that Microphone,
Loudspeaker and Reconnector work with it.
"""

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from .pulse_server import PulseError, defaults, listed
from .pulse_stream import PulseStream

HOST = "PulseAudio"
STEREO = 2  # channels; the server would mix more of them by their positions


class PulseSystem:
    """A SoundSystem (see protocols.py) of the server's sources and sinks."""

    PortAudioError = PulseError

    def __init__(
        self,
        hidden: Callable[[str], bool] | None = None,
        refresh: Callable[[], None] = lambda: None,
    ):
        """`hidden`: whether a source of this name must not be recorded from, and a sink must not be
        the default.

        With it, streams stay on their device, rather than to follow the server's default one.
        `refresh` is called when a session looks for its devices again.
        """
        self._stays = hidden is not None
        self._hidden = hidden or (lambda name: False)
        self._refresh = refresh
        self._devices: list[dict[str, Any]] = []
        self._chosen: dict[str, str] = {}  # names of the last default devices that are not hidden
        self._initialize()

    def _initialize(self) -> None:
        self._refresh()
        names = defaults()
        self._devices = [*self._listed("source", names), *self._listed("sink", names)]
        self._defaults = [self._default("input"), self._default("output")]

    def _terminate(self) -> None:
        self._devices = []

    def _listed(self, kind: str, names: dict[str, str]) -> list[dict[str, Any]]:
        found = []
        for fields in listed(f"{kind}s"):
            name = fields["Name"]
            spec = re.match(r"\S+ (\d+)ch (\d+)Hz", fields["Sample Specification"])
            input = kind == "source"
            if spec is None or (input and self._hidden(name)):
                continue
            channels = int(spec[1])
            monitored = fields.get("Monitor of Sink", "n/a")
            found.append(
                {
                    "name": f"{fields.get('Description', '')} ({name})",
                    "hostapi": 0,
                    "default_samplerate": float(spec[2]),
                    "max_input_channels": channels if input else 0,
                    "max_output_channels": 0 if input else channels,
                    "pulse": name,
                    "positions": fields.get("Channel Map", ""),
                    "preferred": name == names.get(kind),
                    "monitor": "" if monitored == "n/a" else monitored,
                }
            )
        return found

    def _default(self, direction: str) -> int:
        """Return the id of the server's default device; if that is hidden, of the one that was the
        default before, else of the first that is no monitor; or -1."""
        before = -1
        first = -1
        for id, entry in enumerate(self._devices):
            if not entry[f"max_{direction}_channels"] or self._hidden(entry["pulse"]):
                continue
            if entry["preferred"]:
                self._chosen[direction] = entry["pulse"]
                return id
            if entry["pulse"] == self._chosen.get(direction):
                before = id
            if first < 0 and not entry["monitor"]:
                first = id
        return first if before < 0 else before

    @property
    def default(self) -> Any:
        """As `sounddevice.default`: `device` holds the ids of the default input and output."""
        return SimpleNamespace(device=self._defaults)

    def query_devices(self) -> list[dict[str, Any]]:
        """As `sounddevice.query_devices`."""
        return self._devices

    def query_hostapis(self) -> list[dict[str, Any]]:
        """As `sounddevice.query_hostapis`."""
        return [{"name": HOST}]

    def InputStream(self, **wanted: Any) -> PulseStream:
        """As `sounddevice.InputStream`."""
        name = self._kept("input", wanted)
        line = ["parec", *self._unmixed(wanted)]
        if name is None:
            return PulseStream(line, wanted, self._may_follow)
        # with PipeWire
        return self._staying(
            [*line, "--property=node.dont-reconnect=true"], "sources", name, wanted
        )

    def _unmixed(self, wanted: dict[str, Any]) -> list[str]:
        """Return the options by which all channels of a source arrive as they are, whatever their
        positions are."""
        id = self._defaults[0] if wanted["device"] is None else wanted["device"]
        positions = self._devices[id]["positions"] if id >= 0 else ""
        if positions.count(",") + 1 != wanted["channels"]:
            return []
        kept = ["--no-remix", "--no-remap"] if wanted["channels"] > STEREO else []
        return [f"--channel-map={positions}", *kept]

    def OutputStream(self, **wanted: Any) -> PulseStream:
        """As `sounddevice.OutputStream`."""
        name = self._kept("output", wanted)
        line = ["pacat", "--playback"]
        return (
            PulseStream(line, wanted)
            if name is None
            else self._staying(line, "sinks", name, wanted)
        )

    def _kept(self, direction: str, wanted: dict[str, Any]) -> str | None:
        """Return the device that a stream stays on; None if it follows the server's default
        device."""
        id = wanted["device"]
        if id is None and self._stays:
            id = self._defaults[direction == "output"]
        return None if id is None else self._devices[id]["pulse"]

    def _staying(
        self, line: list[str], kind: str, name: str, wanted: dict[str, Any]
    ) -> PulseStream:
        def may_move(new: str) -> bool:
            """Return whether a user moved the stream.

            The server moves it when its device vanishes, or was the default device and no longer
            is. A stream of a virtual device belongs nowhere else.
            """
            if new == name:
                return True
            if self._hidden(name):
                return False
            present = [fields["Name"] for fields in listed(kind)]
            return name in present and not self._hidden(new)

        return PulseStream([*line, f"--device={name}"], wanted, may_move)

    def _may_follow(self, new: str) -> bool:
        """Return whether the source `new` is a microphone. The server may move a recording to the
        monitor of an output when the last microphone vanishes."""
        known = {entry["pulse"]: entry["monitor"] for entry in self._listed("source", {})}
        return not known.get(new, "")

"""Close the devices of a session while nobody uses its virtual microphone or loudspeaker, and open
them when somebody does.

A laptop's microphone light is off meanwhile, and the processor sleeps.
"""

from time import monotonic
from typing import Any, Protocol

from .pulse_watch import PulseWatch
from .reconnect import Reconnector
from .reported_latency import ReportedLatency
from .session import LiveSession

# seconds without a listener before the devices are closed: programs often open them again
GRACE = 2.0
KINDS = {"source", "sink", "server"}


class VirtualDevice(Protocol):
    """Offer what Standby watches: VirtualMicrophone, VirtualSpeaker.

    label: the name that programs show. listeners: the programs that use it. streams: the kind of
    their streams. idle: what is said while there are none.
    """

    label: str
    listeners: Any
    node: str

    @property
    def is_speaker(self) -> bool: ...

    @property
    def streams(self) -> str: ...

    @property
    def idle(self) -> str: ...

    def check(self) -> str:
        """Return what keeps programs from hearing what they should; empty if nothing does."""


class Standby:
    """Watch a virtual device: who uses it, and whether it still sounds as it should.

    message: what a user changed in the sound settings that spoils the sound; empty if nothing.
    astray: which programs the server has moved to another microphone and that are not back; empty
    if none. reported: the latency of the session as the server knows it.
    """

    def __init__(
        self,
        session: LiveSession,
        reconnector: Reconnector,
        device: VirtualDevice,
        closes: bool = True,
    ):
        """`closes`: close the devices while nobody listens; false where others hear the session
        too."""
        self._session = session
        self._reconnector = reconnector
        self.device = device
        self._closes = closes
        self._heard = True
        self._since = monotonic()  # when the last listener went
        self.message = ""
        self.astray = ""
        self.reported = ReportedLatency()
        self._watch: PulseWatch | None = None

    def start(self) -> None:
        """Begin to watch; the devices are open. The thread inherits the priority of the caller."""
        self._since = monotonic()
        self._watch = PulseWatch({*KINDS, self.device.streams}, self._look)

    @property
    def idle(self) -> bool:
        """True while the devices are closed because nobody listens."""
        return self._reconnector.resting

    def update(self) -> None:
        """Close the devices if nobody has listened for a while, and open them for a recording; ask
        again for listeners that the server took away. Call this several times a second."""
        if self._watch and self.device.listeners.away:
            self._watch.look(self.device.streams)
        if self._wanted:
            self._reconnector.wake()
        elif monotonic() - self._since >= GRACE:
            self._reconnector.rest()

    def close(self) -> None:
        """Stop watching."""
        if self._watch:
            self._watch.close()

    @property
    def _wanted(self) -> bool:
        return self._heard or not self._closes or self._session.recorder is not None

    def _look(self, kind: str) -> None:
        """Open the devices at once where somebody listens; called at every change in the server."""
        listeners = self.device.listeners
        listeners.look(everything=kind != self.device.streams)
        self.astray = listeners.message
        if self._heard and not listeners.heard:
            self._since = monotonic()
        self._heard = listeners.heard
        if self._wanted:
            self._reconnector.wake()
        if kind != self.device.streams:
            self.message = self.device.check()
            self._reconnector.refresh()
            if self._reconnector.is_running:
                self.reported.tell(self.device.node, self._session.latency.total)

"""Hold a live session, and what follows its devices and keys, together."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qse.live.reconnect import Reconnector
    from qse.live.session import LiveSession
    from qse.live.standby import Standby
    from qse.live.worker import Worker

    from .controls import Controls


@dataclass(frozen=True)
class Running:
    """A session, the thread that does its work, and what follows its devices and keys.

    standby: with a virtual microphone.
    """

    session: "LiveSession"
    worker: "Worker"
    reconnector: "Reconnector"
    controls: "Controls"
    standby: "Standby | None" = None

    def start(self) -> None:
        """Open the devices, and watch who listens."""
        self.session.start()
        if self.standby:
            self.standby.start()

    def sleep(self, pause: Callable[[], object]) -> None:
        """Call a function that stops this process for a while, meanwhile with closed devices: the
        sound server would keep what the microphone hears."""
        was_open = self.session.source.is_live and not self.reconnector.resting
        if was_open:
            self.reconnector.rest()
        pause()
        if was_open:
            self.reconnector.wake()

    def look(self) -> None:
        """Check the devices; call this several times a second. Raises as `Reconnector.look`."""
        if self.standby:
            self.standby.update()
        self.reconnector.look()

    def close(self) -> None:
        """Stop watching devices."""
        if self.standby:
            self.standby.close()
        self.reconnector.close()

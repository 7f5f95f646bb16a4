"""Wait for audio devices that vanish, and open them again."""

import atexit
from contextlib import suppress
from threading import Event, RLock, Thread
from time import monotonic
from typing import Any

from ..errors import QseError
from .devices import NoDevice, NoSound, Unusable, refuse_feedback
from .ports import PATIENCE
from .protocols import DevicePort, SoundSystem
from .session import LiveSession

RETRY = 1.0  # seconds before each attempt to find a device again
# seconds that an attempt may take; PortAudio never returns from some streams whose device vanished
LONGEST = 60.0


class Reconnector:
    """Watch a session's devices and open them again after one vanished.

    message: what is wrong now, None while all is well.
    losses: how often a device vanished. away: for how many seconds in all; meanwhile nothing is
    enhanced, played or recorded.
    resting: whether the devices are closed because they are not needed.
    """

    def __init__(self, session: LiveSession, sound: SoundSystem | None, reconnect: bool = True):
        """`sound` is restarted to see devices that came later; None if there are none. Without
        `reconnect`, a device that vanishes is an error."""
        self._ports: list[DevicePort] = [*session.speakers, *session.source.devices]
        self._sound: Any = sound
        self._session = session
        self._reconnect = reconnect
        self._done = Event()
        self._changing = RLock()  # held while devices begin or end to rest
        self.resting = False
        self.message: str | None = None
        self.losses = 0
        self._before = 0.0
        self._since = 0.0
        self._waiting: Thread | None = None
        self._failure: QseError | None = None
        self._begun: float | None = None  # when the present attempt began

    @property
    def away(self) -> float:
        """Seconds in all in which a device was gone."""
        return self._before + (monotonic() - self._since if self.message else 0.0)

    @property
    def is_running(self) -> bool:
        """Return whether the devices are open and none is gone."""
        return self.message is None and not self.resting

    def look(self) -> None:
        """Check the devices; call this several times a second.

        Raises QseError if one vanished, without `reconnect`, if an attempt to find it again does
        not end, or if it came back in a way that the session cannot continue with.
        """
        if self._failure:
            raise self._failure
        self._session.update()
        begun = self._begun
        if begun is not None and monotonic() - begun > LONGEST:
            self._abandon()
            raise QseError(
                f"{self.message}, but the sound system no longer answers: start qse live again"
            )
        with self._changing:
            self._check()

    def rest(self) -> None:
        """Close the devices until `wake`, unless one of them is gone."""
        with self._changing:
            if self.resting or self.message is not None or self._done.is_set():
                return
            self.resting = True
            self._close_ports()
            self._session.reset_levels()

    def refresh(self) -> None:
        """Look for the present devices while they rest, so that `wake` needs no time for it."""
        with self._changing:
            if self.resting and self._sound and not self._done.is_set():
                self._sound._initialize()

    def wake(self) -> None:
        """Open the devices if they rest."""
        with self._changing:
            if not self.resting or self._done.is_set():
                return
            self.resting = False
            try:
                self._open_ports()
            except NoSound:  # the next look finds it lost
                self._close_ports()

    def _check(self) -> None:
        """Begin to wait for a device that is gone."""
        if self.message is None and not self.resting:
            gone = dict.fromkeys(str(port.device) for port in self._ports if port.lost)
            if gone:
                self._lose(", ".join(gone))
            else:
                self._relieve()

    def close(self) -> None:
        """Stop waiting for devices; one that is being opened or closed gets PATIENCE seconds for
        that."""
        self._done.set()
        if self._waiting:
            self._waiting.join(PATIENCE)
            if self._waiting.is_alive():
                self._abandon()

    def _relieve(self) -> None:
        with suppress(NoSound):  # the device is gone, which the next look notices
            for speaker in self._session.speakers:
                speaker.relieve()

    def _lose(self, names: str) -> None:
        self.losses += 1
        if not self._reconnect:
            raise QseError(
                f"device gone: {names}; plug it in and start again, or use reconnect=True"
            )
        self._since = monotonic()
        self.message = f"gone, waiting for its return: {names}"
        self._session.reset_levels()
        self._waiting = Thread(target=self._wait, name="qse reconnect", daemon=True)
        self._waiting.start()

    def _wait(self) -> None:
        """Try until all ports are open; in a thread, as a sound server that is down may block for
        seconds."""
        self._begun = monotonic()
        self._close_ports()
        while not self._pause():
            try:
                with suppress(self._sound.PortAudioError):  # nothing to end after a failed attempt
                    self._sound._terminate()
                self._sound._initialize()  # the only way to a new list of devices
                self._open_ports()
            except Unusable as error:
                self._fail(error)
                return
            except (NoSound, self._sound.PortAudioError) as error:
                if not isinstance(error, NoDevice):
                    self.message = f"gone, still waiting: {error}"
                self._close_ports()
                continue
            except Exception as error:  # or this thread would end and the session wait for ever
                self._fail(
                    QseError(
                        f"{self.message}, but it cannot be opened ({error!r}): start qse live again"
                    )
                )
                return
            self._before = self.away
            self.message = None
            self._begun = None
            return

    def _fail(self, error: QseError) -> None:
        """Let the next look end the session."""
        self._begun = None
        self._failure = error
        self._close_ports()

    def _pause(self) -> bool:
        """Wait RETRY seconds for the next attempt; return whether there is none."""
        self._begun = None
        ended = self._done.wait(RETRY)
        self._begun = monotonic()
        return ended

    def _abandon(self) -> None:
        """Let this process end though the sound system does not return: it would be closed at the
        exit."""
        for port in self._ports:
            port.abandon()
        if hasattr(self._sound, "_exit_handler"):  # of sounddevice
            atexit.unregister(self._sound._exit_handler)

    def _open_ports(self) -> None:
        """Open all devices; the default ones may be others now."""
        for port in self._ports:
            port.open()
        refuse_feedback(self._sound, self._session.source.devices, self._session.speakers)

    def _close_ports(self) -> None:
        for port in self._ports:
            port.close()

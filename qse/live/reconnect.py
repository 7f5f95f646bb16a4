"""What keeps a session going: the thread that works, and an eye on devices that vanish and return."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from types import ModuleType
from typing import Any

import numpy as np

from ..audio.formats import Layout
from ..audio.writer import write
from ..errors import QseError
from .devices import NoDevice, NoSound
from .file_source import FileSource, in_step
from .ports import PATIENCE, Port
from .session import LiveSession

RETRY = 1.0  # seconds before each attempt to find a device again


class Worker(Thread):
    """Runs a session to its end; `error` is what ended it, None if it was its end."""

    def __init__(self, session: LiveSession, to: Path | None = None, overwrite: bool = False):
        """`to`: a file for the enhanced signal, in step with the source and of its rate; nothing is there before the
        end, and on error nothing at all, unless it is a full disk and the source a microphone."""
        super().__init__(name="qse live", daemon=True)
        self.session = session
        self.error: BaseException | None = None
        self._to, self._overwrite = to, overwrite

    def run(self) -> None:
        """The thread's work."""
        try:
            if self._to is None:
                for _ in self.session.run():
                    pass
            else:
                self._write(self._to)
        except BaseException as error:
            self.error = error

    def _write(self, to: Path) -> None:
        session, source = self.session, self.session.source
        if isinstance(source, FileSource):
            layout = source.layout.to(to, source.path)
        else:
            layout = Layout(source.sample_rate, 1, "WAV", "PCM_16", "FILE", {}).to(to, Path("microphone.wav"))
        blocks = in_step(session.run(), session.engine.latency, session.engine.sample_rate, source, session.channels)
        layout = replace(layout, channels=session.channels)
        keep = not isinstance(source, FileSource)
        if write(to, _until(blocks, layout.longest), layout, self._overwrite, keep) == layout.longest:
            raise QseError(f"{to}: the session ended, for a {layout.format} file cannot be longer; name a .rf64 file")


def _until(blocks: Iterable[np.ndarray], samples: float) -> Iterator[np.ndarray]:
    """The first `samples` of the blocks."""
    for block in blocks:
        if len(block) >= samples:
            yield block[: int(samples)]
            return
        samples -= len(block)
        yield block


class Reconnector:
    """Looks after a session's devices. `message`: what is wrong now, None while all is well; `losses`: how often;
    `away`: for how many seconds in all, in which nothing is heard, played or recorded."""

    def __init__(self, session: LiveSession, sound: ModuleType | None, reconnect: bool = True):
        """`sound` as in `devices`; it is started anew to see devices that came later."""
        self._ports = [port for port in (*session.speakers, session.source) if isinstance(port, Port)]
        self._sound: Any = sound
        self._session, self._reconnect, self._done = session, reconnect, Event()
        self.message: str | None = None
        self.losses, self._before, self._since = 0, 0.0, 0.0
        self._waiting: Thread | None = None

    @property
    def away(self) -> float:
        return self._before + (monotonic() - self._since if self.message else 0.0)

    def look(self) -> None:
        """Call this several times a second. Raises QseError if a device is gone and shall not be waited for."""
        if self.message is None:
            gone = dict.fromkeys(str(port.device) for port in self._ports if port.lost)
            if gone:
                self._lose(", ".join(gone))
            else:
                self._relieve()

    def close(self) -> None:
        """Wait for nothing any more; a device that is just being opened has a moment to be so, and is closed later."""
        self._done.set()
        if self._waiting:
            self._waiting.join(PATIENCE)

    def _relieve(self) -> None:
        with suppress(NoSound):  # it is gone, then, and the next look will see that
            for speaker in self._session.speakers:
                speaker.relieve()

    def _lose(self, names: str) -> None:
        self.losses += 1
        if not self._reconnect:
            raise QseError(f"device gone: {names}; plug it in and start again, or leave --reconnect on")
        self._since = monotonic()
        self.message = f"gone, waiting for its return: {names}"
        self._session.forget_levels()
        self._waiting = Thread(target=self._wait, name="qse watch", daemon=True)
        self._waiting.start()

    def _wait(self) -> None:
        """A thread's work, as a sound server that is down may keep it for seconds: try until all ports are open."""
        self._close_ports()
        while not self._done.wait(RETRY):
            try:
                with suppress(self._sound.PortAudioError):  # the last attempt may have left nothing to end
                    self._sound._terminate()
                self._sound._initialize()  # the only way to a new list of devices
                for port in self._ports:
                    port.open()
            except (NoSound, self._sound.PortAudioError) as error:
                if not isinstance(error, NoDevice):
                    self.message = f"gone, still waiting: {error}"
                self._close_ports()
                continue
            self._before, self.message = self.away, None
            return

    def _close_ports(self) -> None:
        for port in self._ports:
            port.close()

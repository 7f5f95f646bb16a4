"""Run a live session in a thread, and write its output to a file."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Thread

import numpy as np

from ..audio.channel_order import check_subwoofer
from ..audio.file_mode import OWNER_ALONE
from ..audio.formats import conversion_text
from ..audio.resample import converted
from ..audio.writer import write
from ..errors import QseError
from .file_input import aligned
from .session import LiveSession


class Worker(Thread):
    """Run a session to its end. `error`: the exception that ended it, None for a regular end;
    `warning`: what is not the same in the file that it writes."""

    def __init__(self, session: LiveSession, to: Path | None = None, overwrite: bool = False):
        """`to`: a file for the enhanced signal, aligned with the source, at its rate or, where the
        coding does not hold that, the next higher one.

        It appears when it is complete. After an error it does not appear, except on a full disk
        with a live source: then what was written is kept.
        """
        super().__init__(name="qse live", daemon=True)
        self.session = session
        self.error: BaseException | None = None
        self.warning: str | None = None
        self._to = to
        self._overwrite = overwrite
        if to is not None:
            source = session.source
            self._layout = replace(source.layout_for(to), channels=session.channels)
            check_subwoofer(to, self._layout.subtype, session.channels, None)
            self.warning = conversion_text(to, self._layout, source.sample_rate)

    @property
    def writes(self) -> bool:
        """Return whether there is a file for the enhanced signal."""
        return self._to is not None

    def run(self) -> None:
        """Do the thread's work."""
        try:
            if self._to is None:
                for _ in self.session.run():
                    pass
            else:
                self._write(self._to)
        except BaseException as error:
            self.error = error

    def _write(self, to: Path) -> None:
        session = self.session
        source = self.session.source
        layout = self._layout
        blocks = aligned(
            session.run(),
            session.engine.latency,
            session.engine.sample_rate,
            source,
            session.channels,
        )
        if self.warning:
            blocks = converted(blocks, source.sample_rate, layout.sample_rate, layout.channels)
        first = _first(blocks, layout.longest)
        origin = source.origin or OWNER_ALONE
        written = write(
            to, first, layout, self._overwrite, source.is_live, source=origin, is_named=True
        )
        if written == layout.longest:
            limit = f"a {layout.format} file cannot be longer"
            raise QseError(f"{to}: the session ended, for {limit}; name a .rf64 file")


def _first(blocks: Iterable[np.ndarray], samples: float) -> Iterator[np.ndarray]:
    """Yield the first `samples` of the blocks."""
    for block in blocks:
        if len(block) >= samples:
            yield block[: int(samples)]
            return
        samples -= len(block)
        yield block

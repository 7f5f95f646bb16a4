"""Run a live session in a thread, and write its output to a file."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from threading import Thread

import numpy as np

from ..audio.clipping import ClipMeter
from ..audio.file_mode import OWNER_ALONE
from ..audio.formats import conversion_text
from ..audio.metadata import long_enough
from ..audio.resample import converted
from ..audio.writer import write
from ..errors import QseError
from ..runtime.batch_plan import FileJob
from ..runtime.written import Written, say, say_clipping
from .file_input import aligned
from .session import LiveSession


class Worker(Thread):
    """Run a session to its end. `error`: the exception that ended it, None for a regular end;
    `warnings`: sentences about what is not the same in the file that it writes."""

    def __init__(self, session: LiveSession, to: Path | None = None, overwrite: bool = False):
        """`to`: a file for the enhanced signal, aligned with the source, at its rate or, where the
        coding does not hold that, the next higher one.

        It appears when it is complete. After an error it does not appear, except on a full disk
        with a live source: then what was written is kept.
        """
        super().__init__(name="qse live", daemon=True)
        self.session = session
        self.error: BaseException | None = None
        self.warnings: list[str] = []
        self._to = to
        self._overwrite = overwrite
        if to is not None:
            self._layout = session.source.layout_for(to, session.channels)

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
        if warning := conversion_text(to, layout, source.sample_rate):
            self.warnings.append(warning)
            blocks = converted(blocks, source.sample_rate, layout.sample_rate, layout.channels)
        clipping = ClipMeter()
        first = _first(clipping.counted(blocks) if layout.clips else blocks, layout.longest)
        origin = source.origin or OWNER_ALONE
        said = Written()
        job = FileJob(Path(source.name), to)

        def finish(part: Path, samples: int) -> None:
            with long_enough(to, layout):
                say(said, job, source.carry_into(part, layout, samples))

        written = write(
            *(to, first, layout, self._overwrite, source.is_live),
            finish=finish,
            source=origin,
            is_named=True,
        )
        say_clipping(said, job, clipping)
        self.warnings += said.warnings
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

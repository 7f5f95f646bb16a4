"""Report what qse denoise does: messages on standard error, a progress bar, JSON on standard
output."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from json import dumps
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from qse.printable import printable

from .options import as_options
from .streams import say

if TYPE_CHECKING:
    from qse.errors import QseError
    from qse.runtime.batch import Outcome
    from qse.runtime.batch_plan import FileJob

NAMED = 5  # files in one message


class DenoiseReport:
    """Report the outcomes of a run. `failed`: whether the exit status has to be 1."""

    def __init__(
        self, quiet: bool, json: bool, deliver: Callable[[Path], str], is_trial: bool = False
    ):
        """`deliver`: called with the path of each result; returns the name of where it went.
        `is_trial`: whether nothing is written."""
        self._quiet = quiet
        self._json = json
        self._deliver = deliver
        self._warned = False
        self._written: list[Outcome] = []
        self._is_trial = is_trial
        self.failed = False

    def refused(self, errors: "Iterable[QseError]") -> None:
        """Report inputs for which there is no job."""
        for error in errors:
            self._fail(str(error), input=None, output=None)

    def unknown(self, files: "list[Path]") -> None:
        """Name sound files of folders that are left out for their suffix."""
        if files:
            names = ", ".join(map(str, files[:NAMED]))
            more = f" and {len(files) - NAMED} more" if len(files) > NAMED else ""
            count = "1 sound file is" if len(files) == 1 else f"{len(files)} sound files are"
            reason = "no audio format has their suffix; name them to have them read"
            say(f"qse: warning: {count} left out: {names}{more}: {reason}")

    def left_out(self, existing: "list[FileJob]", all_jobs: int, skip: bool) -> None:
        """Report the jobs whose output exists: as skipped, or else together as one error."""
        if not existing:
            return
        if skip:
            self._note(f"skipped, because their output exists: {len(existing)} of {all_jobs}")
        else:
            self.failed = True
            count = f"{len(existing)} outputs exist already"
            cure = "--overwrite replaces them, --skip-existing leaves these files out"
            say(f"qse: {count}, the first is {existing[0].target}: {cure}")
        status = "skipped" if skip else "failed"
        error = None if skip else "output exists"
        for job in existing:
            self._object(status=status, **_paths(job), error=error)

    def all(self, outcomes: "Iterable[Outcome]") -> None:
        """Report each outcome as it comes."""
        from qse.runtime.batch import Cancelled

        for outcome in outcomes:
            if isinstance(outcome.error, Cancelled):
                self._object(status="interrupted", **_paths(outcome.job))
            elif outcome.error:
                self._fail(str(outcome.error), **_paths(outcome.job))
            else:
                self._success(outcome)

    def interrupted(self, jobs: "list[FileJob]") -> None:
        """Report how many files were written before a signal came."""
        names = [str(outcome.job.target) for outcome in self._written]
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        done = f", {', '.join(names[:NAMED])}{more}" if names else ""
        say(f"qse: interrupted: {len(names)} of {len(jobs)} written{done}")

    def summary(self, spent: float) -> None:
        """Report the number of files, their duration, and the real-time factor for `spent`
        seconds."""
        if self._written:
            audio = sum(outcome.seconds for outcome in self._written)
            files = "1 file" if len(self._written) == 1 else f"{len(self._written)} files"
            speed = f"in {spent:.2f} s: RTF {spent / audio:.3f}"
            self._note(
                f"{files}, {audio:.1f} s of audio {'would be written' if self._is_trial else speed}"
            )

    @contextmanager
    def progress(self, jobs: "list[FileJob]") -> "Iterator[Callable[[float], object]]":
        """Show a bar on a terminal's standard error; yield the function that advances it by seconds
        of audio."""
        if self._quiet or not sys.stderr.isatty():
            yield lambda seconds: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        name = TextColumn("{task.description}", markup=False)
        text = TextColumn("{task.fields[done]}{task.fields[of]} of audio")
        left = TextColumn("left")
        ended = Event()
        with Progress(
            *(name, BarColumn(), text, TimeRemainingColumn(), left),
            console=Console(stderr=True),
            transient=True,
        ) as progress:
            title = printable(str(jobs[0])) if len(jobs) == 1 else f"{len(jobs)} files"
            task = progress.add_task(title, total=None, done=minutes(0), of="")

            def measure() -> None:
                total = _total_seconds(jobs, ended)
                if total:
                    progress.update(task, total=total, of=f" of {minutes(total)}")

            def advance(seconds: float) -> None:
                progress.advance(task, seconds)
                progress.update(task, done=minutes(progress.tasks[0].completed))

            # beside the work: to ask for the length of every file may take minutes
            Thread(target=measure, daemon=True).start()
            try:
                yield advance
            finally:
                ended.set()

    def _success(self, outcome: "Outcome") -> None:
        job = outcome.job
        self._written.append(outcome)
        limited = _bandwidth(outcome)
        if limited and not self._warned:
            self._warned = True
            say(f"qse: {limited}")
        warnings = [text for text in (outcome.damage, *outcome.warnings) if text]
        for text in warnings:
            say(f"qse: warning: {text}")
        tracks = f" ({outcome.tracks} sound tracks)" if outcome.tracks > 1 else ""
        self._note(f"{job} -> {self._deliver(job.target)}{tracks}")
        self._object(
            status="planned" if self._is_trial else "written",
            **_paths(job),
            seconds=round(outcome.seconds, 6),
            sample_rate=outcome.sample_rate,
            channels=outcome.channels,
            tracks=outcome.tracks,
            warning="; ".join([*warnings, *([limited] if limited else [])]) or None,
            lost=list(outcome.lost),
        )

    def _fail(self, error: str, **fields: Any) -> None:
        self.failed = True
        error = as_options(error)
        say(f"qse: {error}")
        self._object(status="failed", **fields, error=error)

    def _note(self, text: str) -> None:
        if not self._quiet and not self._json:
            say(text)

    def _object(self, **fields: Any) -> None:
        if self._json:
            print(dumps(fields), flush=True)


def _total_seconds(jobs: "list[FileJob]", ended: Event) -> float:
    """Return the seconds of sound of all jobs by their headers, 0 once `ended` is set."""
    from qse.audio.ffmpeg_process import ended_when
    from qse.runtime.batch import sound_seconds

    total = 0.0
    with ended_when(ended.is_set):
        for job in jobs:
            if ended.is_set():
                return 0.0
            total += sound_seconds(job.source)
    return total


def minutes(seconds: float) -> str:
    """Return a duration as minutes and seconds, 75 as "1:15"; from an hour on, 3675 as
    "1:01:15"."""
    left, second = divmod(round(seconds), 60)
    hour, minute = divmod(left, 60)
    return f"{hour}:{minute:02}:{second:02}" if hour else f"{minute}:{second:02}"


def _paths(job: "FileJob") -> dict[str, str]:
    return {"input": str(job), "output": str(job.target)}


def _bandwidth(outcome: "Outcome") -> str | None:
    """Return a sentence if the output has less bandwidth than the input."""
    if outcome.sample_rate / 2 <= outcome.bandwidth:
        return None
    band = f"{outcome.bandwidth / 1000:g} kHz bandwidth"
    return (
        f"output is limited to {band}: {outcome.job} has a sample rate of {outcome.sample_rate} Hz"
    )

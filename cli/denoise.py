"""qse denoise: enhance files, folders or standard input."""

import os
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from qse.errors import UsageError

from .denoise_report import DenoiseReport
from .hints import second_is_output
from .options import FileProcessing, Overwrite, check_talker, grouped, moment, number
from .pipe import deliver, is_pipe, pipe_job, scratch_folder
from .streams import libraries_silenced

if TYPE_CHECKING:
    from qse.runtime.bands import BandModels
    from qse.runtime.batch_options import Options
    from qse.runtime.batch_plan import FileJob
    from qse.runtime.part import Part


@dataclass(frozen=True)
class Handling:
    """The treatment of the files that are read and written."""

    overwrite: Overwrite = False
    skip_existing: Annotated[
        bool, typer.Option("--skip-existing", help="Leave out files whose output exists.")
    ] = False
    salvage: Annotated[
        bool,
        typer.Option("--salvage", help="Read damaged files as far as they go, with a warning."),
    ] = False
    track: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Enhance only this sound track. [default: all]"),
    ] = None
    bit_rate: Annotated[
        float | None,
        typer.Option(
            min=6,
            max=1000,
            metavar="KBIT",
            callback=number,
            help="kbit/s of lossy outputs. [default: as the input]",
        ),
    ] = None
    keep_times: Annotated[
        bool, typer.Option("--keep-times", help="Give outputs the file times of inputs.")
    ] = False

    split: Annotated[
        float | None,
        typer.Option(
            min=20,
            max=1_000_000,
            metavar="SECONDS",
            callback=number,
            help="Cut into pieces, for many cores; changes the output by -59 dB. [default: never]",
        ),
    ] = None

    channels: Annotated[
        Literal["separate", "linked"],
        typer.Option(help="Enhance each channel by itself, or give all one mask."),
    ] = "separate"

    loudness: Annotated[
        float | None,
        typer.Option(
            min=-50,
            max=-5,
            metavar="LUFS",
            callback=number,
            help="Bring outputs to this loudness, such as -16. [default: as it comes]",
        ),
    ] = None

    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Write nothing; say what would be written and lost."),
    ] = False

    start: Annotated[
        float | None,
        typer.Option("--from", metavar="TIME", parser=moment, help="Begin there, as 1:20 or 80."),
    ] = None
    stop: Annotated[
        float | None,
        typer.Option("--to", metavar="TIME", parser=moment, help="End there. [default: its end]"),
    ] = None

    def options(self, strength: float | None) -> "Options":
        """Return the options of a batch, with the limit of the attenuation."""
        from qse.runtime.batch_options import Options

        return Options(
            strength=strength,
            overwrite=self.overwrite,
            salvage=self.salvage,
            bit_rate=self.bit_rate,
            keep_times=self.keep_times,
            track=self.track,
            split=self.split,
            part=self._part(),
            link=self.channels == "linked",
            loudness=self.loudness,
            is_trial=self.dry_run,
        )

    def _part(self) -> "Part | None":
        """Return the part of the recordings that is enhanced, None for all."""
        from qse.runtime.part import Part

        if self.start is None and self.stop is None:
            return None
        part = Part(self.start or 0.0, inf if self.stop is None else self.stop)
        if part.start >= part.stop:
            raise UsageError("--from has to come before --to")
        return part


@grouped
def denoise(
    *,
    inputs: Annotated[
        list[str], typer.Argument(metavar="IN", help="Files, folders or patterns; - is stdin.")
    ],
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="PATH", help="Output file or folder; - is stdout."),
    ] = None,
    processing: FileProcessing,
    handling: Handling,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print only errors and warnings.")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per file to stdout.")
    ] = False,
) -> None:
    """Remove noise from audio files and from the sound of videos.

    Without -o, noisy.wav becomes noisy-enhanced.wav in the same folder. Format, sample rate,
    channels, length and metadata stay as they are. Folders are searched with all sub-folders.

    Formats that libsndfile does not read, such as .m4a and .mp4, are read with ffmpeg if it is
    installed. All sound tracks of a video are enhanced, its picture stays as it is.
    """
    from qse.runtime.batch_plan import plan, with_existing_output
    from qse.runtime.found_inputs import left_out

    overwrite = handling.overwrite
    skip_existing = handling.skip_existing
    if overwrite and skip_existing:
        raise UsageError("--overwrite and --skip-existing exclude each other: name one of them")
    piped = is_pipe(inputs, output)
    _check(inputs, output, piped, json, handling.dry_run)
    check_talker(processing.talker, [output] if output else [])
    models = processing.models()
    at_once = processing.at_once(models)
    with scratch_folder(wanted=piped) as scratch:
        jobs, errors = (
            ([pipe_job(inputs, output, scratch, overwrite)], [])
            if scratch
            else plan(inputs, output)
        )
        check_talker(processing.talker, (job.target for job in jobs))
        delivered = partial(deliver, output=output, scratch=scratch)
        report = DenoiseReport(quiet, json, delivered, handling.dry_run)
        report.refused(errors)
        if not scratch:
            report.unknown(left_out(inputs))
        if not scratch and not overwrite:
            existing = with_existing_output(jobs, skip_existing)
            report.left_out(existing, len(jobs), skip_existing)
            kept_out = set(existing)
            jobs = [job for job in jobs if job not in kept_out]
        options = handling.options(processing.strength)
        _run(jobs, models, options, at_once, report)
    if report.failed:
        raise typer.Exit(1)


def _check(inputs: list[str], output: str | None, piped: bool, json: bool, dry_run: bool) -> None:
    """Raise UsageError for inputs, output and options that do not go together."""
    if hint := second_is_output(inputs, output):
        raise UsageError(hint)
    if json and piped and output not in (None, os.devnull):
        raise UsageError("--json writes to standard output: name an output file with -o")
    if dry_run and piped:
        raise UsageError("--dry-run needs files: name them in place of -")


def _run(
    jobs: "list[FileJob]",
    models: "BandModels",
    options: "Options",
    at_once: int,
    report: DenoiseReport,
) -> None:
    """Run the jobs and report each; a stop signal abandons the unfinished ones and sets the exit
    status."""
    from qse.audio.atomic_write import discard_unfinished
    from qse.runtime.batch import run
    from qse.stop_signals import collected

    def give_up(number: int) -> None:
        discard_unfinished()
        os._exit(128 + number)  # a regular exit would abort while threads run the model

    begin = perf_counter()
    # to standard error, without a file name
    decoder_prints = any(job.source.suffix.lower() == ".mp3" for job in jobs)
    silenced = libraries_silenced() if decoder_prints else nullcontext()
    with collected(give_up) as signals, silenced, report.progress(jobs) as progress:
        report.all(run(jobs, models.at, options, at_once, progress, lambda: bool(signals)))
    if signals:
        report.interrupted(jobs)
        raise typer.Exit(128 + signals[0])
    report.summary(perf_counter() - begin)

"""The options of qse evaluate, in groups."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qse.errors import UsageError

from .completion import models_that_begin
from .options import Trust

if TYPE_CHECKING:
    from qse.evaluate.evaluation import Timing


@dataclass(frozen=True)
class TestData:
    """The recordings to score on: two folders, or the test set of a corpus."""

    noisy: Annotated[Path | None, typer.Option(metavar="DIR", help="Noisy recordings.")] = None
    clean: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Clean files of the same names.")
    ] = None
    dataset: Annotated[
        str | None, typer.Option(help="Test set of a corpus, not --noisy: voicebank or dns3.")
    ] = None
    data: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of that corpus.")] = None


@dataclass(frozen=True)
class Scoring:
    """The metrics, how signals are read and aligned, and the folder of results."""

    metrics: Annotated[
        str,
        typer.Option(
            help="Comma-separated names (qse info metrics); all: those that the data allow."
        ),
    ] = "all"
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for the results; else runs/evaluate/MODEL."),
    ] = None
    sample_rate: Annotated[
        int | None,
        typer.Option(
            min=8000,
            metavar="HZ",
            help="Rate of reading and of SI-SDR; else that of the files, or 16000.",
        ),
    ] = None
    align: Annotated[
        bool, typer.Option("--align", help="Compensate the constant delay of the system.")
    ] = False
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse files of other lengths; else up to 32 ms go.")
    ] = False

    @property
    def timing(self) -> "Timing":
        """Return how signals of different lengths are treated. UsageError for two ways."""
        if self.align and self.strict:
            raise UsageError("--align and --strict exclude each other: leave one out")
        if self.align:
            return "aligned"
        return "strict" if self.strict else "trimmed"


@dataclass(frozen=True)
class Presentation:
    """Pictures, tables by group, and the comparison with another system."""

    plot: Annotated[
        bool,
        typer.Option(
            "--plot", help="Draw histograms and spectrograms, also of the worst utterances."
        ),
    ] = False
    groups: Annotated[
        Path | None,
        typer.Option(
            metavar="TSV",
            help="Tab-separated table: utterance, then columns to group by; or VoiceBank's log.",
        ),
    ] = None
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column of that table; may be given several times."),
    ] = None
    published: Annotated[
        bool,
        typer.Option(
            "--published", help="Also print published results on the test set of --dataset."
        ),
    ] = False
    against: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Also print paired differences from this system, or from the results in a folder.",
            autocompletion=models_that_begin,
        ),
    ] = None


@dataclass(frozen=True)
class Computing:
    """Set how the model is run."""

    lead_in: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Number of recordings that the model processes before each one.",
        ),
    ] = 0
    talkers: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep the talker of the recording in DIR that is named as the noisy one.",
        ),
    ] = None
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Utterances at a time; else one per core.")
    ] = None
    threads: Annotated[int, typer.Option(min=1, help="Threads of the model.")] = 1
    device: Annotated[
        str, typer.Option(help="Where PyTorch runs the network of a run: cpu, cuda, cuda:N, mps.")
    ] = "cpu"
    trust: Trust = False

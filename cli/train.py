"""qse train: train a network on folders of speech and noise, or on an official corpus."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import bars
from .completion import models_that_begin
from .found_folder import RUNS, found_folder
from .options import NOISE, RECIPE, SPEECH, Change, Trust, grouped, number
from .streams import say

if TYPE_CHECKING:
    from rich.progress import Progress

    from qse.train.train_config import TrainConfig


@dataclass(frozen=True)
class Material:
    """The recordings to train on."""

    speech: Annotated[Path | None, SPEECH] = None
    noise: Annotated[Path | None, NOISE] = None
    data: Annotated[
        Path | None, typer.Option(help="Folder of the recipe's corpus, not --speech and --noise.")
    ] = None


@dataclass(frozen=True)
class Parts:
    """The bundle to train on."""

    bundles: Annotated[
        Path | None, typer.Option(help="Folder with the parts of a bundle; see qse bundle.")
    ] = None
    watch: Annotated[
        Path | None,
        typer.Option(
            help="The same, but begin with the first part, and take in those that arrive while the"
            " training runs."
        ),
    ] = None


@dataclass(frozen=True)
class Validation:
    """The pairs that choose the best weights."""

    valid: Annotated[
        Path | None, typer.Option(help="Folder with clean/ and noisy/ files of equal names.")
    ] = None
    unknown: Annotated[
        Path | None,
        typer.Option(
            help="Further pairs, of sources that are in no training data; they choose the best"
            " weights."
        ),
    ] = None


@dataclass(frozen=True)
class Computing:
    """Time, processes, and where the run begins."""

    hours: Annotated[
        float | None, typer.Option(min=0, callback=number, help="Stop after this many hours.")
    ] = None
    processes: Annotated[
        int, typer.Option(min=1, help="Processes that train together, at most one per core.")
    ] = 1
    device: Annotated[
        str, typer.Option(help="cpu, cuda (a GPU for each process), cuda:N (that one) or mps.")
    ] = "cpu"
    start: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="MODEL",
            help="Start from the weights of a model, or of the run in a folder.",
            autocompletion=models_that_begin,
        ),
    ] = None
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the run in --out, with its config.toml.")
    ] = False
    cache: Annotated[
        Path | None,
        typer.Option(
            help="Folder for decoded copies of the recordings, mapped from there and not read into"
            " memory."
        ),
    ] = None


@grouped
def train(
    *,
    recipe: Annotated[str | None, RECIPE] = None,
    material: Material,
    parts: Parts,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the run: checkpoints, curves, configuration. [default: runs/RECIPE]"
        ),
    ] = None,
    validation: Validation,
    computing: Computing,
    trust: Trust = False,
    change: Change = None,
) -> None:
    """Train a network on speech and noise that are mixed on the fly, from folders or a bundle, or
    on an official corpus."""
    from qse.audio.folder_path import open_found
    from qse.errors import UsageError
    from qse.networks import weights
    from qse.train.job import Job
    from qse.train.parallel import is_first
    from qse.train.recipe import check_run, find_recipe, read_config
    from qse.train.run import train as run

    resume = computing.resume
    if recipe:
        path = find_recipe(recipe)
    elif resume and out:
        path = out / "config.toml"
    else:
        raise UsageError("say what to train: --recipe NAME, or --resume with the --out of a run")
    is_run = path.name == "config.toml"
    out = out or found_folder(RUNS / (path.resolve().parent.name if is_run else path.stem))
    if resume and (out / "config.toml").is_file():
        path = out / "config.toml"
    places = vars(material) | vars(parts) | vars(validation)
    job = Job(out=out, recipe=path, **places, **vars(computing))
    with bars.progress_bar() as progress:
        # of a run through no link: its values are written there again
        config = read_config(path, change or [], open_found if path.parent == out else None)
        if resume and not trust:
            check_run(config, path)
        run(config, job, _Steps(), progress, say=say)
    if not is_first():
        return
    header = weights.load_header(out / "checkpoint.safetensors")
    done = int(header["step"])
    steps = int(header.get("steps", 0))
    if not done:
        return say(f"{out}: stopped before the end of the first step; begin again with --resume")
    rest = f", or continue to step {steps} with --resume" if done < steps else ""
    if config.train.by_clock and float(header["passed"]) < 1:
        rest = ", or continue with --resume and the --hours that are left"
    say(
        f"{out}: step {weights.weights_step(out)}; export it as a model: "
        f"qse export {out} models/NAME{rest}"
    )


class _Steps:
    """Show a progress bar: step, loss, seconds of audio per second, time left; a line for what is
    done beside the steps, and how much of it."""

    def __init__(self) -> None:
        self._bar: Progress | None = None  # a started bar cannot be sent to another process
        self._note = ""

    def __call__(self, row: dict[str, float], plan: "TrainConfig") -> None:
        if self._bar is None:
            self._bar = _started(plan)
            self._first = row
        audio = row["audio"] - self._first["audio"]
        seconds = row["seconds"] - self._first["seconds"]
        speed = audio / seconds if seconds else 0.0
        done = row["passed"] if plan.by_clock else row["step"]
        shown = f"{row['step']:.0f}" if plan.by_clock else f"{row['step']:.0f}/{plan.steps}"
        self._note = f"{shown}  loss {row['loss']:.3f}  {speed:.1f} s audio/s"
        self._bar.update(self._bar.task_ids[0], completed=done, note=self._note)

    def stage(self, what: str, done: int, total: int) -> None:
        if done == 0:
            say(what)
        if self._bar:
            note = f"{self._note}  {done}/{total} pairs" if done < total else self._note
            self._bar.update(self._bar.task_ids[0], note=note)

    def close(self) -> None:
        if self._bar:
            self._bar.stop()


def _started(plan: "TrainConfig") -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("training"), BarColumn(), TimeRemainingColumn()
    bar = Progress(*columns, TextColumn("{task.fields[note]}"), console=Console(stderr=True))
    bar.add_task("", total=1.0 if plan.by_clock else plan.steps, note="")
    bar.start()
    return bar

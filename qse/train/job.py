"""Name the inputs and outputs of a training run."""

from dataclasses import dataclass
from pathlib import Path

from ..audio.folder_path import link_below
from ..errors import QseError

# of a run, complete or not
RUN_FILES = ("checkpoint.safetensors", "best.safetensors", "train.csv", "valid.csv", "curves.png")


@dataclass(frozen=True)
class Job:
    """Input and output paths of a training run, and its time limit.

    speech and noise: folders of recordings; or bundles: folder of the parts of a bundle; or watch:
    the same, where training begins with the first part and takes in those that arrive; or data: the
    folder of the recipe's corpus. valid: folder of pairs; None: those of the corpus, if any.
    unknown: a second folder of pairs, of sources that are not trained on. hours: time limit.
    processes: that train together; torchrun says it for those that it starts. device: "cpu", "cuda"
    (each process has a GPU of its own), "cuda:1" (this one) or "mps". resume: continue the run in
    `out`. cache: folder for decoded copies of the recordings, which are not read into memory then;
    those of a bundle are in `out` without it. start: model (name or folder) or folder of a run
    whose weights are the first ones; None: random weights. recipe: the file of the configuration;
    the run is no more readable than that.
    """

    speech: Path | None = None
    noise: Path | None = None
    out: Path = Path("runs/train")
    valid: Path | None = None
    hours: float | None = None
    processes: int = 1
    device: str = "cpu"
    resume: bool = False
    data: Path | None = None
    start: str | Path | None = None
    cache: Path | None = None
    unknown: Path | None = None
    bundles: Path | None = None
    watch: Path | None = None
    recipe: Path | None = None

    @property
    def parts(self) -> Path | None:
        """Return the folder of the parts of a bundle, if the run trains on one."""
        return self.bundles or self.watch

    @property
    def checkpoint(self) -> Path:
        """Return the path of the checkpoint of the last step."""
        return self.out / "checkpoint.safetensors"

    def options(self) -> str:
        """Return the options of `qse train` that change the result, apart from configuration and
        first weights."""
        options = "--data DATA" if self.data else "--speech SPEECH --noise NOISE"
        options = "--bundles PARTS" if self.parts else options
        options += (" --valid VALID" if self.valid else "") + (
            " --unknown UNKNOWN" if self.unknown else ""
        )
        return options + (f" --processes {self.processes}" if self.processes > 1 else "")


def check_folder(job: Job) -> None:
    """Raise QseError for an output folder that holds a run already, or none to resume."""
    if job.out == Job.out and (link := link_below(job.out.parent, job.checkpoint)):
        # nobody has named it: it may have come in an archive
        raise QseError(f"{link} is a link: name a folder, Job(out=...)")
    if not job.resume and any((job.out / name).exists() for name in RUN_FILES):
        held = "already; continue it with resume=True or"
        what = held if job.checkpoint.exists() else "without a checkpoint;"
        raise QseError(f"{job.out}: holds a run {what} name another folder")
    if job.resume and not job.checkpoint.exists():
        cure = "begin without resume=True, in another folder"
        raise QseError(f"{job.checkpoint}: no checkpoint to resume from; {cure}")

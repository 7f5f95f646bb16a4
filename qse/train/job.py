"""Name the inputs and outputs of a training run."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Job:
    """Input and output paths of a training run, and its time limit.

    speech and noise, or data: the folder of the recipe's corpus. valid: pairs; without it those of the corpus, if any.
    hours: time limit. start: the model, by name or folder, or the folder of the run that the first weights come from.
    """

    speech: Path | None
    noise: Path | None
    out: Path
    valid: Path | None = None
    hours: float | None = None
    processes: int = 1
    device: str = "cpu"
    resume: bool = False
    data: Path | None = None
    start: str | Path | None = None

    @property
    def checkpoint(self) -> Path:
        """The file of the last step."""
        return self.out / "checkpoint.safetensors"

    def options(self) -> str:
        """Return the options of `qse train` that the result depends on, beside configuration and first weights."""
        options = "--data DATA" if self.data else "--speech SPEECH --noise NOISE"
        options += " --valid VALID" if self.valid else ""
        return options + (f" --processes {self.processes}" if self.processes > 1 else "")

"""Train step after step, with logs, checkpoints and validation in between, until the end or a
request to stop."""

from torch import Tensor

from . import checkpoint
from .job import Job
from .stopping import StopRequest
from .trainer import Trainer
from .training_log import TrainingLog
from .validation import Validator


class TrainingLoop:
    """The loop of one process; all processes make the same decisions, and the first one writes the
    files."""

    def __init__(
        self, trainer: Trainer, validator: Validator, log: TrainingLog, stop: StopRequest, job: Job
    ):
        self.trainer = trainer
        self.validator = validator
        self.log = log
        self.stop = stop
        self.job = job

    def restore(self, tensors: dict[str, Tensor], header: dict[str, str]) -> None:
        """Continue from a checkpoint."""
        self.trainer.restore(tensors, header)
        self.log.restore(header)
        self.validator.restore(header, self.job.out / "best.safetensors")

    def run(self) -> None:
        """Train until the last step, the time limit or a signal."""
        try:
            with self.stop.signals():
                self._steps()
        finally:
            self.log.close()

    def _steps(self) -> None:
        plan = self.trainer.config
        trainer = self.trainer
        stopped = not self._validate_if_due()  # of a run that was stopped during a validation
        while trainer.done < plan.steps and not stopped:
            skipped = trainer.skipped
            terms, stopped = trainer.step(self.stop.due())
            self.log.step(terms, trainer.skipped > skipped)
            due = trainer.done % plan.checkpoint_every == 0 or trainer.done == plan.steps
            if due:
                self.log.write()
            if due or stopped:  # before a validation, which takes long
                self._save("checkpoint.safetensors")
            stopped |= not self._validate_if_due()
        if self.validator.due(trainer.done, end=True) and not self.stop.signalled_anywhere():
            self._validate()

    def _validate_if_due(self) -> bool:
        """Return False if a signal interrupted the validation, which is then due when the run
        resumes."""
        return not self.validator.due(self.trainer.done) or self._validate()

    def _validate(self) -> bool:
        """Score, save the best weights, log and draw; return False if a signal came before the
        scores were complete."""
        scores = self.validator.validate(self.trainer, lambda: self.stop.signalled)
        if not scores:
            self._save("checkpoint.safetensors")
            return False
        if self.validator.record(self.trainer.done, scores):
            self._save("best.safetensors")
        self.log.write_scores(scores)
        self._save("checkpoint.safetensors")  # again, with the best score
        self.log.draw()
        return True

    def _save(self, name: str) -> None:
        """Write a checkpoint in the first process; all processes contribute their states."""
        tensors = self.trainer.tensors()
        if self.trainer.rank == 0:
            header = {**self.trainer.header(), **self.log.header(), **self.validator.header()}
            checkpoint.save(self.job.out / name, tensors, {**header, "options": self.job.options()})

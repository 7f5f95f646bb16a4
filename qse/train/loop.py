"""Train step after step, with logs, checkpoints and validation in between, until the end or a
request to stop."""

import time
from contextlib import AbstractContextManager, nullcontext

from torch import Tensor

from ..audio.file_mode import Sources
from . import checkpoint
from .exchange import count
from .job import Job
from .memory import OutOfMemory, release_unused
from .step import Step
from .stopping import StopRequest, interruptible
from .trainer import Trainer
from .training_log import TrainingLog
from .validation import Validator


class TrainingLoop:
    """The loop of one process; all processes make the same decisions, and the first one writes the
    files. sources: what the first weights come from; no checkpoint is more readable."""

    def __init__(
        self,
        trainer: Trainer,
        validator: Validator,
        log: TrainingLog,
        stop: StopRequest,
        job: Job,
        sources: Sources,
    ):
        self.trainer = trainer
        self.validator = validator
        self.log = log
        self.stop = stop
        self.job = job
        self.sources = sources
        self._saved = time.monotonic()

    def restore(self, tensors: dict[str, Tensor], header: dict[str, str]) -> None:
        """Continue from a checkpoint."""
        self.trainer.restore(tensors, header)
        self.stop.begun = self.trainer.passed
        self.log.restore(header)
        self.validator.restore(header, self.job.out / "best.safetensors")

    def run(self) -> None:
        """Train until the last step, the time limit or a signal."""
        try:
            with self.stop.signals(), self._interruptible():
                self._steps()
        finally:
            self.log.close()

    @property
    def _abandons(self) -> bool:
        """Return whether a signal abandons a step. On a GPU it is short, and the recording of its
        graphs cannot be abandoned."""
        return self.trainer.device.type != "cuda"

    def _interruptible(self) -> AbstractContextManager[None]:
        """Return a context in which signals are handled during a step that they abandon."""
        return interruptible(self.trainer.network.parameters() if self._abandons else ())

    def _steps(self) -> None:
        plan = self.trainer.config
        trainer = self.trainer
        stopped = trainer.time_is_over
        stopped |= not self._validate_if_due()  # of a run that was stopped during a validation
        while (plan.by_clock or trainer.done < plan.steps) and not stopped:
            skipped = trainer.skipped
            terms, stopped, save, abandoned = self._step()
            if abandoned:
                self._save("checkpoint.safetensors")
                return
            self.log.step(terms, trainer.skipped > skipped)
            due = trainer.done % plan.checkpoint_every == 0 or trainer.done == plan.steps
            if due or trainer.time_is_over:
                self.log.write()
            if due or save or stopped:  # before a validation, which takes long
                self._save("checkpoint.safetensors")
            stopped |= not self._validate_if_due()
        if self.validator.due(trainer.done, end=True) and not self.stop.signalled_anywhere():
            self._validate()

    def _step(self) -> Step:
        """Train on the next batch; where it does not fit into memory, save the steps before."""
        minutes = self.trainer.config.checkpoint_minutes
        save = 0 < 60 * minutes <= time.monotonic() - self._saved
        abandonable = self.stop.abandonable if self._abandons else nullcontext
        try:
            return self.trainer.step(self.stop.due(), save, self.stop.passed, abandonable)
        except OutOfMemory:
            release_unused()
            if count() == 1 and self.trainer.done:  # others may have done the step
                self._save("checkpoint.safetensors")
            raise

    def _validate_if_due(self) -> bool:
        """Return False if a signal interrupted the validation, which is then due when the run
        resumes."""
        return not self.validator.due(self.trainer.done) or self._validate()

    def _validate(self) -> bool:
        """Score, save the best weights, log and draw; return False if a signal came before the
        scores were complete."""
        scores = self.validator.validate(self.trainer, lambda: self.stop.signalled, self.log.stage)
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
        """Write a checkpoint in the first process; all processes contribute their states
        and sums."""
        tensors = self.trainer.tensors()
        sums = self.log.header()
        if self.trainer.rank == 0:
            header = {**self.trainer.header(), **sums, **self.validator.header()}
            header["options"] = self.job.options()
            checkpoint.save(self.job.out / name, tensors, header, self.sources)
        self._saved = time.monotonic()

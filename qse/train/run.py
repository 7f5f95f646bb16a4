"""A training run: audio and a configuration in, a folder of checkpoints and curves out.

RUN/config.toml  checkpoint.safetensors  best.safetensors  train.csv  valid.csv  curves.png
"""

import json
import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

from ..data import sources
from ..data.datasets import Stages
from ..networks import build_network, weights
from ..stop_signals import handled_by
from . import checkpoint
from .metrics_log import MetricsLog
from .parallel import average_, launch
from .preflight import Job, check
from .recipe import RunConfig, write_config
from .stateful_training import loss_of
from .trainer import TrainConfig, Trainer
from .validation import Utterance, find_pairs, fingerprint, quality, read_pairs, validate
from .warm_start import start_from


class Report(Protocol):
    """What the first process tells about the run: a row after every step, and when there are no more."""

    def __call__(self, row: dict[str, float], plan: TrainConfig) -> None: ...

    def close(self) -> None: ...


def train(config: RunConfig, job: Job, report: Report | None = None, progress: Stages | None = None) -> None:
    """Trains until `steps` or `hours` are over, or a signal asks to stop; a checkpoint holds the end of it.

    progress is called while a corpus is made ready, with (what is copied, files done, all of them).

    Raises QseError for what `check` refuses.
    """
    check(config, job)
    if not job.resume:
        write_config(job.out / "config.toml", config)
    if job.data:
        sources.prepare(config.dataset, job.data, progress)
    launch(_work, job.processes, config, job, report)


def _work(rank: int, processes: int, config: RunConfig, job: Job, report: Report | None) -> None:
    """One process of the run."""
    if job.device == "cpu":
        torch.set_num_threads(1)
    else:
        torch.backends.cudnn.allow_tf32 = False  # or what asks for full precision (STFT, GRU) has 10 bits of mantissa
    device = torch.device(job.device)
    torch.manual_seed(config.train.seed)
    source = _source(config, job, device)
    given, config = config, replace(config, train=config.train.counted(source.segments, processes))

    def batches(step: int) -> tuple[Tensor, Tensor]:
        noisy, clean = source.batch(step, config.train.batch, rank)
        return noisy.to(device), clean.to(device)

    network = build_network(config.model)
    header = start_from(network, job.start) if job.start else {}
    trainer = Trainer(network, loss_of(config.loss, config.train.carry_state_probability), batches, config.train, device, rank)
    if job.start:
        trainer.begin(Path(job.start).resolve().name, header)
    run = _Run(trainer, config, job, _pairs(config, job), rank, processes, report)
    if job.resume and rank == 0:  # not before: what fails until here leaves the run as it was
        write_config(job.out / "config.toml", given)
    run.go()


def _source(config: RunConfig, job: Job, device: torch.device) -> sources.Source:
    mix, seed = config.mix, config.train.seed
    if job.data:
        return sources.CORPORA[config.dataset](job.data, mix, seed, device, job.processes)
    assert job.speech and job.noise
    return sources.folders(job.speech, job.noise, mix, seed, device)


def _pairs(config: RunConfig, job: Job) -> list[Utterance]:
    """What the run is validated with."""
    if job.valid:
        return read_pairs(find_pairs(job.valid, config.mix.sample_rate))
    return read_pairs(sources.validation(config.dataset, job.data)) if job.data else []


class _Run:
    """The rhythm around the steps: checkpoints, validation, logs, the end."""

    def __init__(
        self,
        trainer: Trainer,
        config: RunConfig,
        job: Job,
        pairs: list[Utterance],
        rank: int,
        processes: int,
        report: Report | None,
    ):
        self.trainer, self.config, self.job, self.pairs = trainer, config, job, pairs
        self.rank, self.processes, self.report = rank, processes, report
        self.log, self.best, self.asked_to_stop = MetricsLog(job.out), float("-inf"), False
        self.validated = 0  # the step at which that was last done
        self.judged_by = fingerprint(pairs)
        self.sums: dict[str, float] = {}  # of every term since the last line of train.csv, and the count of steps
        if job.resume:
            self._resume(job.out / "checkpoint.safetensors")

    def _resume(self, path: Path) -> None:
        tensors, header = weights.load(path)
        self.trainer.restore(tensors, header)
        self.sums = json.loads(header.get("sums", "{}"))
        before = header.get("judged_by", self.judged_by)
        self.judged_by = self.judged_by if self.pairs else before
        if before == self.judged_by and path.with_name("best.safetensors").exists():
            self.best = float(header["best"])  # that of other pairs says nothing of the next ones
        self.validated = int(header.get("validated", header["step"]))
        if self.rank == 0:
            self.log.rewind(self.trainer.done)

    def go(self) -> None:
        """Trains until the end, the time limit or a signal; the handlers of signals are put back afterwards."""
        try:
            with handled_by(self._ask_to_stop):
                self._steps()
        finally:
            if self.report and self.rank == 0:
                self.report.close()

    def _steps(self) -> None:
        plan, trainer, hours = self.config.train, self.trainer, self.job.hours
        deadline = float("inf") if hours is None else time.monotonic() + 3600 * hours
        stopped = not self._validate_if_due()  # a run that ended in it
        while trainer.done < plan.steps and not stopped:
            skipped = trainer.skipped
            terms, stopped = trainer.step(self.asked_to_stop or time.monotonic() > deadline)
            self._report(terms, trainer.skipped > skipped)
            due = trainer.done % plan.checkpoint_every == 0 or trainer.done == plan.steps
            if due:
                self._log()
            if due or stopped:  # before a validation, which takes long
                self._save("checkpoint.safetensors")
            stopped |= not self._validate_if_due()
        if self.pairs and self.validated < trainer.done and not self._anyone_asked_to_stop():
            self._validate()

    def _ask_to_stop(self, *_: Any) -> None:
        self.asked_to_stop = True

    def _anyone_asked_to_stop(self) -> bool:
        """The same answer in every process: a signal may have reached only some of them."""
        asked = torch.tensor([float(self.asked_to_stop)])
        average_([asked])
        return bool(asked > 0)

    def _report(self, terms: dict[str, float], skipped: bool) -> None:
        for name, value in ({"skipped": 1} if skipped else {"steps": 1, **terms}).items():
            self.sums[name] = self.sums.get(name, 0.0) + value
        if self.report and self.rank == 0:
            done, seconds = self.trainer.done, self.trainer.seconds
            self.report({**terms, "step": done, "audio": self._audio(), "seconds": seconds}, self.config.train)

    def _audio(self) -> float:
        """Seconds of audio that all processes have trained on."""
        return self.trainer.heard / self.config.mix.sample_rate

    def _log(self) -> None:
        """The means since the last line, and how many steps had none, if any."""
        steps, skipped = self.sums.pop("steps", 0), self.sums.pop("skipped", 0)
        means = {"loss": math.nan, **{name: value / steps for name, value in self.sums.items()}}
        means |= {"skipped": skipped} if skipped else {}
        done, self.sums = self.trainer.done, {}
        hours = {"audio_hours": self._audio() / 3600, "train_hours": self.trainer.seconds / 3600}
        if self.rank == 0:
            self.log.add("train", {"step": done, **hours, "rate": self.config.train.rate(done), **means})

    def _save(self, name: str) -> None:
        if self.rank == 0:
            checkpoint.save(
                self.job.out / name,
                self.trainer.tensors(),
                {
                    **self.trainer.header(),
                    "options": self.job.again(),
                    "best": str(self.best),
                    "judged_by": self.judged_by,
                    "validated": str(self.validated),
                    "sums": json.dumps(self.sums),
                },
            )

    def _validate_if_due(self) -> bool:
        """False where a request to stop came in between: what is due then waits for a resume."""
        done = self.trainer.done
        due = self.pairs and self.validated < done and done % self.config.train.valid_every == 0
        return not due or self._validate()

    def _validate(self) -> bool:
        """Scores, keeps the best weights, logs and draws; False where a request to stop came in between."""
        network, device, places = self.trainer.average.module, self.trainer.device, (self.rank, self.processes)
        scores = validate(network, self.pairs, device, *places, lambda: self.asked_to_stop)
        if not scores:
            self._save("checkpoint.safetensors")
            return False
        self.validated = self.trainer.done
        if quality(scores) > self.best:
            self.best = quality(scores)
            self._save("best.safetensors")
        if self.rank == 0:
            self.log.add("valid", {"step": self.trainer.done, "audio_hours": self._audio() / 3600, **scores})
        self._save("checkpoint.safetensors")  # which remembers the best score
        if self.rank == 0:
            self.log.draw()
        return True

"""Train networks for speech by a recipe: what the experiments on speech share."""

from collections.abc import Callable
from dataclasses import replace

from qse.errors import QseError
from qse.networks import Network
from qse.networks.weights import load_header
from qse.train import Job, RunConfig, TrainConfig, train

from .progress import progress


class _Bar:
    """Report a training run to a progress bar."""

    def __init__(self, advance: Callable[[], None]):
        self.advance = advance

    def __call__(self, row: dict[str, float], plan: TrainConfig) -> None:
        self.advance()

    def stage(self, what: str, done: int, total: int) -> None:
        """Show steps alone."""

    def close(self) -> None:
        """The bar ends with its context."""


def train_run(config: RunConfig, job: Job, title: str) -> Network:
    """Train a network in the folder `job.out`, or continue its run; return the averaged weights.

    The batches depend on the recipe and its seed, not on the network. Raises QseError for a run
    that was stopped before its last step.
    """
    job = replace(job, resume=job.checkpoint.exists())
    with progress(title, config.train.steps) as advance:
        network = train(config, job, _Bar(advance))

    header = load_header(job.checkpoint)
    if header["step"] != header["steps"]:
        raise QseError(
            f"{job.out}: stopped after step {header['step']} of {header['steps']}; "
            "give the same command again to continue"
        )
    return network

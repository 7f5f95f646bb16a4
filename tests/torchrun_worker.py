"""Train the smallest streaming network under torchrun, as one of its processes.

    torchrun ... torchrun_worker.py OUT ACCUMULATE KILLED_SHARE

The process with KILLED_SHARE kills itself in step 3. A run that has a checkpoint is resumed.
"""

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import small_training
import torch

from qse.data.source import Batch
from qse.errors import QseError
from qse.networks import build_network
from qse.train.job import Job
from qse.train.run import train

PLAN = replace(small_training.PLAN, steps=5, checkpoint_every=1, carry_state_probability=0.5)


class Noise:
    """Noise that is to be halved; a share of a step always has the same."""

    segments = 100

    def __init__(self, killed_share: int = -1):
        self.killed_share = killed_share

    def batch(self, step: int, size: int, rank: int = 0) -> Batch:
        if step == 3 and rank == self.killed_share:
            os.kill(os.getpid(), signal.SIGKILL)
        generator = torch.Generator().manual_seed(100 * step + rank)
        noisy = 0.1 * torch.randn(size, 4000, generator=generator, dtype=torch.float64)
        return Batch(noisy, 0.5 * noisy, 16000)


def run(out: Path, accumulate: int, killed_share: int = -1) -> None:
    """Train in this process, or resume what it began; in float64, so that rounding stays small."""
    job = Job(out=out)
    torch.manual_seed(int(os.environ.get("RANK", "0")))  # the first weights are those of rank 0
    config = replace(small_training.CONFIG, train=replace(PLAN, accumulate=accumulate))
    train(
        config,
        replace(job, resume=job.checkpoint.exists()),
        network=build_network(small_training.TINY).double(),
        source=Noise(killed_share),
    )


if __name__ == "__main__":
    try:
        run(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
    except QseError as error:
        sys.exit(f"qse: {error}")

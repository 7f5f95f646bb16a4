"""Train a metric discriminator beside the network, on true WB-PESQ of what the network enhances.

The scores come from the package `pesq`, in processes beside this one while the gradient of the
network is computed. The step waits for them, so a checkpoint holds everything and a resumed run
gives the same numbers. The PESQ loss would be no target: the network has its gradient itself.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ProcessPoolExecutor

import torch
from torch import Tensor

from ..losses.metric_discriminator import MetricDiscriminator, distance_from_best, quality
from ..machine import cores
from ..networks.weights import pick
from ..spawning import spawning
from . import checkpoint, score_worker, worker

LEARNING_RATE = 1e-3  # constant
BETAS = (0.9, 0.99)
LOUDEST = 10.0  # of what is scored; full scale is 1

Average = Callable[[Iterable[Tensor]], None]


class DiscriminatorTraining:
    """A metric discriminator, its optimiser, and the pairs that it has not learned from yet."""

    def __init__(self, seed: int, device: torch.device):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.discriminator = MetricDiscriminator().to(device)
        parameters = self.discriminator.parameters()
        self.optimizer = torch.optim.AdamW(parameters, LEARNING_RATE, BETAS, weight_decay=0.0)
        self._clean: list[Tensor] = []
        self._enhanced: list[Tensor] = []
        self._scores: list[Future[float]] = []
        jobs = cores() if device.type == "cuda" else 1  # on a CPU, processes share the cores
        self._workers = ProcessPoolExecutor(jobs, spawning(), worker.begin)

    def loss(self, *, clean: Tensor, enhanced: Tensor) -> Tensor:
        """Return the network's distance from the best quality; begin to score the pairs.

        Waveforms (B, N) at 16 kHz. The discriminator gets no gradient.
        """
        clean = clean.float()
        enhanced = enhanced.float()
        self._clean.append(clean)
        # the weights of the discriminator stay finite also where the step is left out
        shown = enhanced.detach().nan_to_num().clamp(-LOUDEST, LOUDEST)
        self._enhanced.append(shown)
        for reference, output in zip(clean.cpu().numpy(), shown.cpu().numpy(), strict=True):
            self._scores.append(self._workers.submit(score_worker.pesq, reference, output))
        self.discriminator.eval().requires_grad_(False)
        return distance_from_best(self.discriminator, clean=clean, enhanced=enhanced)

    def update(self, average: Average) -> None:
        """Take a step towards the true scores of the pairs, and towards the best of clean speech.

        Pairs without a score are left out. `average` replaces gradients by their mean over all
        processes.
        """
        clean = torch.cat(self._clean)
        enhanced = torch.cat(self._enhanced)
        scores = torch.tensor([score.result() for score in self._scores]).to(clean)
        self.forget()
        self.discriminator.train().requires_grad_(True)
        error = (self.discriminator(clean, enhanced) - quality(scores.nan_to_num())).square()
        of_clean = (self.discriminator(clean, clean) - 1).square()
        self.optimizer.zero_grad()
        ((error + of_clean) * scores.isfinite()).mean().backward()
        weights = self.discriminator.parameters()
        average([weight.grad for weight in weights if weight.grad is not None])
        self.optimizer.step()

    def forget(self) -> None:
        """Leave out the pairs that it has not learned from yet."""
        for score in self._scores:
            score.cancel()
        self._clean.clear()
        self._enhanced.clear()
        self._scores.clear()

    def tensors(self) -> dict[str, Tensor]:
        """Return what a checkpoint holds."""
        tensors = {}
        for name, weight in self.discriminator.state_dict().items():
            tensors[f"weights.{name}"] = weight
        states = checkpoint.optimizer_tensors(self.discriminator, [self.optimizer])
        for name, state in states.items():
            tensors[f"optimizer.{name}"] = state
        return tensors

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Continue from `tensors`; without any, as it is: the run had no discriminator before."""
        if not tensors:
            return
        self.discriminator.load_state_dict(pick(tensors, "weights"))
        states = pick(tensors, "optimizer")
        checkpoint.restore_optimizers(self.discriminator, [self.optimizer], states)

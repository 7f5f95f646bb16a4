"""Record the work of a step once, as a CUDA graph, and run it again with other numbers.

A step of a small network launches thousands of kernels, which takes the CPU longer than the GPU
needs to run them; a graph is one launch. What the CPU draws for a step (rate, look-ahead, number of
grids) chooses the graph; batch, carried states and the items that continue are copied into the
tensors that it reads.
"""

import warnings
from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor

from ..data.source import Batch
from .gradient import Carried, ShareGradient, Terms
from .stateful_training import Choice, TrainingLoss
from .train_config import TrainConfig

EAGER = 2  # steps of a choice before it is recorded: libraries set themselves up in the first ones

Work = Callable[[], Any]


class Graphs(Protocol):
    """Run work on a device, and record it."""

    def run(self, work: Work) -> Any:
        """Run work where it will be recorded, and return its result."""

    def record(self, work: Work) -> tuple[Any, Callable[[], None]]:
        """Run work once, and return its result, and what runs it again: on the same tensors, and
        into those of the result."""


class CudaGraphs:
    """Record work on a GPU: by one stream, in one pool of memory."""

    def __init__(self, device: torch.device):
        self.stream = torch.cuda.Stream(device)
        self.pool = torch.cuda.graph_pool_handle()

    def run(self, work: Work) -> Any:
        """Run work in the stream, between what was launched before and what is launched later."""
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            result = work()
        torch.cuda.current_stream().wait_stream(self.stream)
        return result

    def record(self, work: Work) -> tuple[Any, Callable[[], None]]:
        """Record work, which does not run it, and run the graph."""
        graph = torch.cuda.CUDAGraph()
        # other threads may use the GPU meanwhile
        with torch.cuda.graph(graph, self.pool, self.stream, capture_error_mode="thread_local"):
            result = work()
        graph.replay()
        return result, graph.replay


class GraphedGradient:
    """Add the gradient of a share to those of the network, by the graph of what was drawn for it.

    Results are those of `eager`. If the work cannot be recorded, as a loss that reads numbers of
    the GPU cannot, it warns and goes on without graphs.
    """

    def __init__(self, eager: ShareGradient, loss: TrainingLoss, graphs: Graphs):
        self.eager = eager
        self.loss = loss
        self.graphs = graphs
        self._recorded: dict[tuple, _Recorded | int] = {}
        self._fails = False

    def __call__(self, batch: Batch, carried: Carried) -> tuple[Terms, Carried]:
        choice = self.loss.choose(self.eager.network, batch)
        key = (choice.prefix, batch.noisy.shape)
        found = self._recorded.get(key, 0)
        if isinstance(found, _Recorded):
            return found(batch, choice, carried)
        if found < EAGER or self._fails:
            self._recorded[key] = found + 1
            return self.graphs.run(lambda: self._eagerly(choice, batch, carried))
        try:
            recorded = _Recorded(self, choice, batch, carried)
        except RuntimeError as error:
            reason = str(error).partition("\n")[0]
            warnings.warn(f"training goes on without CUDA graphs: {reason}", stacklevel=2)
            self._fails = True
            return self._eagerly(choice, batch, carried)
        self._recorded[key] = recorded
        return recorded.terms, {**carried, **recorded.carried}

    def _eagerly(self, choice: Choice, batch: Batch, carried: Carried) -> tuple[Terms, Carried]:
        terms, after = self.eager.of(lambda: self.loss.compute(choice, batch, carried))
        return terms, {**carried, **after}


class _Recorded:
    """The recorded work of one choice, and the tensors that it reads and writes.

    terms: of the last run. carried: the states of the choice, those at the beginning of a run and,
    after it, those at its end.
    """

    def __init__(
        self, gradient: GraphedGradient, choice: Choice, batch: Batch, carried: Carried
    ) -> None:
        self.batch = Batch(*map(_cloned, batch))
        self.choice = choice
        if choice.kept is not None:
            self.choice = choice._replace(kept=choice.kept.clone())
        self.carried: Carried = {}
        for name, state in carried.items():
            if name.startswith(choice.prefix) and choice.kept is not None:
                self.carried[name] = state.clone()
        self.gradient = gradient
        self.terms, self._run_again = gradient.graphs.record(self._work)

    def __call__(self, batch: Batch, choice: Choice, carried: Carried) -> tuple[Terms, Carried]:
        for own, new in zip(self.batch, batch, strict=True):
            if isinstance(own, Tensor) and isinstance(new, Tensor):
                own.copy_(new, non_blocking=True)
        if self.choice.kept is not None and choice.kept is not None:
            self.choice.kept.copy_(choice.kept, non_blocking=True)
        for name, state in self.carried.items():
            if state is not carried[name]:
                state.copy_(carried[name])
        self._run_again()
        return self.terms, {**carried, **self.carried}

    def _work(self) -> Terms:
        loss = self.gradient.loss
        terms, after = self.gradient.eager.of(
            lambda: loss.compute(self.choice, self.batch, self.carried)
        )
        for name, state in after.items():
            self.carried[name].copy_(state)
        return terms


def gradient_of(eager: ShareGradient, config: TrainConfig) -> "ShareGradient | GraphedGradient":
    """Return the gradient by graphs on a GPU, where `config.graphs` allows it and all numbers that
    change from step to step are tensors; otherwise `eager`."""
    loss = eager.loss
    changes = config.precision == "float16" or config.accumulate > 1 or config.compile
    if not config.graphs or eager.device.type != "cuda" or changes:
        return eager
    if not isinstance(loss, TrainingLoss) or loss.discriminator:
        return eager
    return GraphedGradient(eager, loss, CudaGraphs(eager.device))


def _cloned(part: Any) -> Any:
    return part.clone() if isinstance(part, Tensor) else part

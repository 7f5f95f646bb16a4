"""Record work on a CPU as a CUDA graph records it: operators are run again on the same tensors, and
no line of Python is."""

import torch
from devices import READS
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Tape(TorchDispatchMode):
    """Keep the operators that run, with their arguments and results; refuse those with which a CPU
    would wait for the numbers of a GPU."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        name = operator.overloadpacket.__name__
        if name in READS:
            raise RuntimeError(f"{name} reads numbers while work is recorded")
        kwargs = kwargs or {}
        results = operator(*args, **kwargs)
        self.calls.append((operator, args, kwargs, results))
        return results

    @torch.no_grad()
    def run_again(self) -> None:
        """Run the operators on the same tensors, into those that they returned."""
        for operator, args, kwargs, results in self.calls:
            taken = storages((args, kwargs))
            again = operator(*args, **kwargs)
            for old, new in zip(tree_leaves(results), tree_leaves(again), strict=True):
                # a view, or an argument that was changed in place, has its numbers already
                if isinstance(old, Tensor) and old.untyped_storage().data_ptr() not in taken:
                    old.copy_(new)


def storages(values) -> set[int]:
    """Return where the numbers of the tensors in nested values lie."""
    places = set()
    for leaf in tree_leaves(values):
        if isinstance(leaf, Tensor):
            places.add(leaf.untyped_storage().data_ptr())
    return places


class RecordedGraphs:
    """The interface of `qse.train.step_graphs.Graphs`, with tapes."""

    def __init__(self):
        self.tapes = []

    def run(self, work):
        return work()

    def record(self, work):
        tape = Tape()
        with tape:
            result = work()
        self.tapes.append(tape)
        return result, tape.run_again

"""Make batches before they are needed, in a thread or in processes."""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from itertools import count, islice

from .source import Batch

Key = tuple[int, int]  # step, share
Batches = Callable[[int, int], Batch]


class MixAhead:
    """Return batches by step and share; a thread makes the next ones meanwhile.

    A batch stays a function of step and share: which one comes next only decides what is begun.
    shares: those that are asked for in each step, in this order. ahead: number of batches that are
    begun before they are asked for. executor: runs `batches` in the place of a thread. An exception
    comes with the batch that it belongs to.
    """

    def __init__(
        self, batches: Batches, shares: range, ahead: int, executor: Executor | None = None
    ):
        self.batches = batches
        self.shares = shares
        self.ahead = ahead
        self._executor = executor or ThreadPoolExecutor(1, "mix-ahead")
        self._begun: dict[Key, Future[Batch]] = {}

    def __call__(self, step: int, share: int) -> Batch:
        """Return a batch; wait for it where it is not finished."""
        before = self._begun
        self._begun = {}
        for key in islice(self._from(step, share), self.ahead + 1):
            self._begun[key] = before.get(key) or self._executor.submit(self.batches, *key)
        return self._begun[step, share].result()

    def close(self) -> None:
        """End the thread or the processes, without the batches that nobody has asked for."""
        self._executor.shutdown(cancel_futures=True)

    def _from(self, first_step: int, first_share: int) -> Iterator[Key]:
        for step in count(first_step):
            for share in self.shares:
                if step > first_step or share >= first_share:
                    yield step, share

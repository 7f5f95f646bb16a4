"""Work at a list in several threads, with few results in memory."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def begun_ahead(
    work: Callable[[Item], Result], items: Iterable[Item], pool: Executor, ahead: int
) -> Iterator[Future[Result]]:
    """Yield the futures of work(item) in the order of the items; `ahead` are begun ahead of the one
    that is yielded."""
    begun: deque[Future[Result]] = deque()
    for item in items:
        begun.append(pool.submit(work, item))
        if len(begun) > ahead:
            yield begun.popleft()
    yield from begun

"""Queues of calls that share a pool of threads."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from qse.runtime.serial_queue import SerialQueue


@pytest.mark.parametrize("threads", [0, 1, 2, 4])
def test_calls_run_in_their_order_one_at_a_time(threads):
    running = [0, 0, 0]
    done: list[list[int]] = [[], [], []]

    def work(queue: int, number: int) -> tuple[int, int]:
        running[queue] += 1
        assert running[queue] == 1
        time.sleep(0.001)
        done[queue].append(number)
        running[queue] -= 1
        return queue, number

    with ThreadPoolExecutor(max(1, threads)) as pool:
        queues = [SerialQueue(pool if threads else None) for _ in done]
        futures = {}
        for number in range(20):
            for at, queue in enumerate(queues):
                futures[at, number] = queue.call(work, at, number)
        for key, future in futures.items():
            assert future.result(20) == key
    assert done == 3 * [list(range(20))]


def test_a_queue_that_waits_holds_no_thread():
    """One thread of two is enough for the other queue, while the first one has calls waiting."""
    go = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        first = SerialQueue(pool)
        waiting = [first.call(go.wait, 20) for _ in range(5)]
        assert SerialQueue(pool).call(int).result(20) == 0
        go.set()
        assert all(future.result(20) for future in waiting)


def test_an_error_belongs_to_its_call():
    queue = SerialQueue(None)
    failed = queue.call(int, "x")
    assert queue.call(int, "5").result(20) == 5
    with pytest.raises(ValueError, match="invalid literal"):
        failed.result(20)


def test_a_closed_queue_drops_what_has_not_begun_and_waits_for_the_rest():
    go = threading.Event()
    called = []
    with ThreadPoolExecutor(2) as pool:
        queue = SerialQueue(pool)
        runs = queue.call(go.wait, 20)
        dropped = queue.call(called.append, 1)
        closing = threading.Thread(target=queue.close)
        closing.start()
        while not queue.is_closed:
            time.sleep(0.001)
        assert closing.is_alive()
        go.set()
        closing.join(20)
        assert runs.result(0) and dropped.cancelled() and called == []

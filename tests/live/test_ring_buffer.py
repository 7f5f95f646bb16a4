"""The ring buffer and the wake signal between two threads."""

from threading import Thread
from time import sleep

import numpy as np

from qse.live.ring_buffer import RingBuffer, WakeSignal


def test_ring_buffer_returns_what_went_in():
    rng = np.random.default_rng(0)
    ring = RingBuffer(100, 2)
    sent = [np.zeros((0, 2), np.float32)]
    got = [np.zeros((0, 2), np.float32)]
    for size in rng.integers(0, 150, 500):
        block = rng.standard_normal((size, 2)).astype(np.float32)
        sent.append(block[: ring.write(block)])
        out = np.zeros((rng.integers(0, 150), 2), np.float32)
        got.append(out[: ring.read(out)])
        assert 0 <= ring.waiting <= 100 and ring.free == 100 - ring.waiting
    sent = np.concatenate(sent)
    got = np.concatenate(got)
    np.testing.assert_array_equal(got, sent[: len(got)])
    assert len(sent) - len(got) == ring.waiting
    ring.skip(1000)
    assert ring.waiting == 0


def test_ring_buffer_between_two_threads():
    ring = RingBuffer(64, 1)
    numbers = np.arange(5000, dtype=np.float32)[:, None]
    got = []

    def send():
        at = 0
        while at < len(numbers):
            at += ring.write(numbers[at : at + 7])
            sleep(0)

    thread = Thread(target=send)
    thread.start()
    while sum(map(len, got)) < len(numbers):
        out = np.zeros((11, 1), np.float32)
        got.append(out[: ring.read(out)])
        sleep(0)
    thread.join()
    np.testing.assert_array_equal(np.concatenate(got), numbers)


def test_wake_signal_wakes_and_is_kept():
    bell = WakeSignal()
    bell.set()
    bell.set()
    assert bell.wait(60)  # it has rung: no minute passes
    thread = Thread(target=bell.wait, args=(60,))
    thread.start()
    bell.set()
    thread.join(30)
    assert not thread.is_alive()

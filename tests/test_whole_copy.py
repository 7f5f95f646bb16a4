"""Streams that do not block, or take a part of what they get, are copied to their end."""

import io
import os
from threading import Thread
from time import sleep

import pytest

from qse.whole_copy import copy_whole

CONTENT = os.urandom(300_000)


class Slow(io.RawIOBase):
    """Take a few bytes at a time."""

    def __init__(self):
        self.taken = bytearray()

    def writable(self):
        return True

    def write(self, data):
        self.taken += data[:1000]
        return min(1000, len(data))


def test_target_that_takes_a_part():
    target = Slow()
    copy_whole(io.BytesIO(CONTENT), target)
    assert target.taken == CONTENT


@pytest.mark.skipif(os.name == "nt", reason="pipes of Windows block")
@pytest.mark.parametrize("buffering", [0, -1])
def test_pipes_that_do_not_block(buffering):
    """The writer of the first comes late, the reader of the second too."""
    first, second = os.pipe(), os.pipe()
    os.set_blocking(first[0], False)
    os.set_blocking(second[1], False)
    found = bytearray()

    def write():
        with os.fdopen(first[1], "wb", 0) as file:
            for at in range(0, len(CONTENT), 50_000):
                sleep(0.01)
                file.write(CONTENT[at : at + 50_000])

    def read():
        with os.fdopen(second[0], "rb", 0) as file:
            while data := file.read(20_000):
                sleep(0.001)
                found.extend(data)

    threads = [Thread(target=write), Thread(target=read)]
    for thread in threads:
        thread.start()
    ends = os.fdopen(first[0], "rb", buffering), os.fdopen(second[1], "wb", buffering)
    with ends[0] as source, ends[1] as target:
        copy_whole(source, target)
    for thread in threads:
        thread.join()
    assert found == CONTENT
